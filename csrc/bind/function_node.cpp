// autograd.Function: the node that calls a backward written in Python.
#include <set>

#include "bind/autograd_type.h"
#include "bind/convert.h"
#include "bind/tensor_type.h"
#include "kernels/pointwise.h"
#include "ops/all.h"

namespace flambeau::bind {
namespace {

struct FunctionNode;

// What a context holds of its node: not counted, the node holds the context.
struct PyRecord {
  PyObject_HEAD FunctionNode* node;
};
PyTypeObject* record_type = nullptr;

struct FunctionNode final : Node {
  std::string label;
  std::shared_ptr<PyObject> context, record;
  std::vector<SavedTensor> saved;
  std::vector<int> slots;            // output of forward -> number of the node's output, or -1
  std::vector<bool> takes_gradient;  // argument of forward: a tensor
  bool materialize = true;

  ~FunctionNode() override {
    if (record) reinterpret_cast<PyRecord*>(record.get())->node = nullptr;
  }
  const char* own_name() const override { return label.c_str(); }
  void release_saved() override {
    for (auto& s : saved) s.reset();
  }
  void visit_saved(SavedVisitor& v) override {
    for (auto& s : saved) v.visit("tensors", s);
  }
  void visit_refs(RefVisitor& v) override {
    Node::visit_refs(v);
    v.python(context.get());
    v.python(record.get());
  }

  Tensor zeros(const OutputMeta& m) const {
    Tensor t = empty(m.sizes, m.dtype, m.device);
    fill_kernel(t, 0);
    return t;
  }
  Grads apply(Grads grads) override {
    WithGil gil;
    Object args(must(PyTuple_New(Py_ssize_t(slots.size()))));
    for (size_t i = 0; i < slots.size(); i++) {
      Tensor g;
      if (slots[i] >= 0) {
        g = size_t(slots[i]) < grads.size() ? std::move(grads[size_t(slots[i])]) : Tensor();
        if (!g.defined() && materialize) g = zeros(outputs[size_t(slots[i])]);
      }
      PyTuple_SET_ITEM(args.get(), Py_ssize_t(i), must(wrap(g)));
    }
    grads.clear();
    static PyObject* apply_name = must(PyUnicode_InternFromString("apply"));
    Object method(must(PyObject_GetAttr(context.get(), apply_name)));
    Object result(must(PyObject_Call(method.get(), args.get(), nullptr)));
    return unpack(result.get());
  }
  Grads unpack(PyObject* result) const {
    Object items(PyTuple_Check(result) ? incref(result) : must(PyTuple_Pack(1, result)));
    const auto got = size_t(PyTuple_GET_SIZE(items.get())), want = takes_gradient.size();
    bool fits = got >= want;
    for (size_t i = want; i < got; i++)
      fits &= PyTuple_GET_ITEM(items.get(), Py_ssize_t(i)) == Py_None;
    check(fits, "function ", label, " returned an incorrect number of gradients (expected ", want,
          ", got ", got, ")");
    Grads out;
    for (size_t i = 0; i < want; i++) {
      PyObject* g = PyTuple_GET_ITEM(items.get(), Py_ssize_t(i));
      if (!takes_gradient[i]) {
        check(g == Py_None, "function ", label, " returned a gradient different than None at ",
              "position ", i + 1, ", but the corresponding forward input was not a Variable");
        continue;
      }
      if (g == Py_None) {
        out.emplace_back();
        continue;
      }
      check(is_tensor(g), "expected Variable or None (got ", Py_TYPE(g)->tp_name, ") from ", label,
            " at position ", i + 1);
      const Edge& e = edges[out.size()];
      check(!as_tensor(g).is_complex() || !e || is_complex(e.node->outputs[e.input_nr].dtype),
            "Function ", label, " returned an invalid gradient at index ", i,
            " - expected real numbers but got ", as_tensor(g).dtype());
      out.push_back(as_tensor(g));
    }
    return out;
  }
};

PyObject* wrap_saved(FunctionNode& node) {
  Object out(must(PyTuple_New(Py_ssize_t(node.saved.size()))));
  for (size_t i = 0; i < node.saved.size(); i++)
    PyTuple_SET_ITEM(out.get(), Py_ssize_t(i), must(wrap(node.saved[i].get(node))));
  return out.release();
}

PyObject* record_saved(PyObject* o, PyObject*) {
  return guarded([&]() -> PyObject* {
    FunctionNode* node = reinterpret_cast<PyRecord*>(o)->node;
    check(node != nullptr, "saved_tensors: the graph that kept them is gone");
    Ref<FunctionNode> alive(node);
    return wrap_saved(*node);
  });
}
// The node's Python object, for what a context has of graph.Node.
PyObject* record_node(PyObject* o, PyObject*) {
  return guarded(
      [&]() -> PyObject* { return wrap_node(Ref<Node>(reinterpret_cast<PyRecord*>(o)->node)); });
}
PyMethodDef record_methods[] = {
    {"saved", record_saved, METH_NOARGS, nullptr}, {"node", record_node, METH_NOARGS, nullptr}, {}};

// A copy of `text` that lives for ever: operator names in messages.
const char* lasting(const std::string& text) {
  static auto* names = new std::set<std::string>();
  return names->insert(text).first->c_str();
}

struct Call {
  const char* name;
  Ref<FunctionNode> node;
  std::vector<TensorImpl*> inputs, dirty, constant;
  int results = 0;

  static bool has(const std::vector<TensorImpl*>& list, const Tensor& t) {
    return std::find(list.begin(), list.end(), t.impl()) != list.end();
  }
  // Gives an output its history; the tensor that takes its place where it may not have one.
  Tensor attach(const Tensor& t) {
    const bool given = has(inputs, t);
    if (has(constant, t)) {
      Tensor out = given || t->requires_grad ? detach(t) : t;
      node->add_output(out);
      return out;
    }
    if (has(dirty, t) && given) {
      check(!(is_leaf(t) && wants_grad(t)),
            "a leaf Variable that requires grad has been used in an in-place operation (", name,
            ")");
      check_inplace(t, name);
      bump_version(t, lasting(node->label));
      rebase_history(t, node);
      return t;
    }
    Tensor out = t;
    if (given) {
      NoGrad off;
      out = ops::alias(t);
      if (!meta_if(out) || !meta_if(out)->view) set_view(out, t, name, ViewKind::Custom);
    } else if (t->requires_grad && is_leaf(t)) {
      out = detach(t);  // a leaf from elsewhere keeps its own meaning
    }
    if (auto* meta = meta_if(out); meta && meta->view) {
      meta->view->kind = results > 1 ? ViewKind::Several : ViewKind::Custom;
      meta->view->op = lasting(name);
    }
    set_history(out, node);
    return out;
  }
};

// _attach_function(ctx, name, args, outputs) -> outputs with their history.
PyObject* attach_function(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    const char* name;
    PyObject *context, *args, *outputs;
    if (!PyArg_ParseTuple(arguments, "OsO!O!", &context, &name, &PyTuple_Type, &args, &PyTuple_Type,
                          &outputs))
      return nullptr;
    auto attribute = [&](const char* key) {
      return Object(must(PyObject_GetAttrString(context, key)));
    };
    Call call{name, make_ref<FunctionNode>(), {}, {}, {}};
    auto& node = call.node;
    node->label = std::string(name) + "Backward";
    node->materialize = PyObject_IsTrue(attribute("_materialize").get());
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++) {
      PyObject* a = PyTuple_GET_ITEM(args, i);
      node->takes_gradient.push_back(is_tensor(a));
      if (!is_tensor(a)) continue;
      add_edge(*node, as_tensor(a));
      call.inputs.push_back(as_tensor(a).impl());
    }
    auto list_of = [&](const char* key, std::vector<TensorImpl*>& list) {
      Object value = attribute(key);
      for (auto& t : tensor_list(value.get(), key)) list.push_back(t.impl());
    };
    list_of("dirty_tensors", call.dirty);
    list_of("non_differentiable", call.constant);
    const Py_ssize_t count = PyTuple_GET_SIZE(outputs);
    std::vector<TensorImpl*> given;
    for (Py_ssize_t i = 0; i < count; i++)
      if (PyObject* o = PyTuple_GET_ITEM(outputs, i); is_tensor(o)) {
        given.push_back(as_tensor(o).impl());
        call.results++;
      }
    bool stranger = false;
    for (TensorImpl* t : call.dirty) {
      const bool input = std::find(call.inputs.begin(), call.inputs.end(), t) != call.inputs.end();
      stranger |= !input;
      check(!input || std::find(given.begin(), given.end(), t) != given.end(),
            "Some elements marked as dirty during the forward method of ", name,
            " were not returned as output. The inputs that are modified inplace must all be "
            "outputs of the Function.");
    }
    if (stranger)
      must(PyErr_WarnEx(PyExc_UserWarning,
                        "ctx.mark_dirty() received a tensor that was not an input. Only input "
                        "Tensors that have been mutated should be passed to ctx.mark_dirty().",
                        2));
    Object out(must(PyTuple_New(count)));
    for (Py_ssize_t i = 0; i < count; i++) {
      PyObject* o = PyTuple_GET_ITEM(outputs, i);
      if (!is_tensor(o)) {
        node->slots.push_back(-1);
        PyTuple_SET_ITEM(out.get(), i, incref(o));
        continue;
      }
      node->slots.push_back(int(node->outputs.size()));
      Tensor t = as_tensor(o);
      Tensor result = call.attach(t);
      PyTuple_SET_ITEM(out.get(), i, result.is_same(t) ? incref(o) : must(wrap(result)));
    }
    Object kept = attribute("to_save");
    Object items(kept.get() == Py_None ? must(PyTuple_New(0)) : must(PySequence_Tuple(kept.get())));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); i++) {
      PyObject* o = PyTuple_GET_ITEM(items.get(), i);
      SavedTensor s;
      if (o != Py_None) {
        check<TypeError>(is_tensor(o), "save_for_backward can only save variables, but argument ",
                         i, " is of type ", Py_TYPE(o)->tp_name);
        const Tensor& t = as_tensor(o);
        const bool result = meta_if(t) && meta_if(t)->grad_fn.get() == node.get();
        s.save(t, result);
      }
      node->saved.push_back(std::move(s));
    }
    node->context = keep(context);
    Object record(must(PyType_GenericAlloc(record_type, 0)));
    reinterpret_cast<PyRecord*>(record.get())->node = node.get();
    node->record = keep(record.get());
    must(PyObject_SetAttrString(context, "_record", record.get()));
    return out.release();
  });
}

PyMethodDef functions[] = {{"_attach_function", attach_function, METH_VARARGS, nullptr}, {}};

}  // namespace

PyObject* function_context(const Node& node) {
  auto* function = dynamic_cast<const FunctionNode*>(&node);
  return function ? function->context.get() : nullptr;
}

void add_function_nodes(PyObject* module) {
  PyType_Slot slots[] = {{Py_tp_methods, record_methods}, {0, nullptr}};
  PyType_Spec spec{"flambeau._C._FunctionRecord", sizeof(PyRecord), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  record_type = reinterpret_cast<PyTypeObject*>(must(PyType_FromSpec(&spec)));
  must(PyModule_AddFunctions(module, functions));
}

}  // namespace flambeau::bind
