#include "bind/autograd_type.h"

#include <cstring>
#include <mutex>
#include <unordered_map>

#include "autograd/engine.h"
#include "bind/convert.h"
#include "bind/tensor_type.h"
#include "dispatch/autocast.h"
#include "ops/all.h"

namespace flambeau::bind {
namespace {

// ---- call sites: the Python line that runs now, interned as a small number
// ----------------------------

struct SiteTable {
  std::unordered_map<uint64_t, CallSite> index;
  std::vector<std::pair<PyCodeObject*, int>> sites{{nullptr, 0}};
};
SiteTable& site_table() {
  static auto* table = new SiteTable();
  return *table;
}
constexpr size_t kMaxSites = 1 << 16;  // code objects in the table live for ever: bound them

CallSite find_site() {
  if (!PyGILState_Check()) return 0;
  PyFrameObject* frame = PyEval_GetFrame();
  if (!frame) return 0;
  PyCodeObject* code = PyFrame_GetCode(frame);
  int at = PyFrame_GetLasti(frame);
  uint64_t key = reinterpret_cast<uint64_t>(code) * 0x9e3779b97f4a7c15ull ^ uint64_t(at);
  SiteTable& table = site_table();
  CallSite site = 0;
  if (auto it = table.index.find(key); it != table.index.end()) {
    site = it->second;
  } else if (table.sites.size() < kMaxSites) {
    site = CallSite(table.sites.size());
    table.sites.emplace_back(code, at);
    Py_INCREF(code);
    table.index.emplace(key, site);
  }
  Py_DECREF(code);
  return site;
}

std::string describe_site(CallSite site) {
  auto& table = site_table();
  if (!site || site >= table.sites.size() || !PyGILState_Check()) return "";
  auto [code, at] = table.sites[site];
  const char* file = PyUnicode_AsUTF8(code->co_filename);
  if (!file) PyErr_Clear();
  return cat_text(" (", file ? file : "?", ":", PyCode_Addr2Line(code, at), ")");
}

// ---- Node objects
// -------------------------------------------------------------------------------------

struct PyNode {
  PyObject_HEAD Ref<Node> node;
};
PyTypeObject* node_base = nullptr;

Node& node_of(PyObject* o) { return *reinterpret_cast<PyNode*>(o)->node; }

// name() has the namespace of some nodes, the type's name has not.
const char* type_name(const Node& node) {
  const char* colon = std::strrchr(node.name(), ':');
  return colon ? colon + 1 : node.name();
}

void node_dealloc(PyObject* o) {
  auto* self = reinterpret_cast<PyNode*>(o);
  if (self->node) self->node->pyobject = nullptr;
  self->node.~Ref();
  PyTypeObject* type = Py_TYPE(o);
  type->tp_free(o);
  Py_DECREF(type);
}
PyObject* node_repr(PyObject* o) {
  return PyUnicode_FromFormat("<%s object at %p>", type_name(node_of(o)), static_cast<void*>(o));
}
PyObject* node_name(PyObject* o, PyObject*) { return PyUnicode_FromString(node_of(o).name()); }
PyObject* node_next(PyObject* o, void*) {
  return guarded([&]() -> PyObject* {
    auto& edges = node_of(o).edges;
    Object out(must(PyTuple_New(Py_ssize_t(edges.size()))));
    for (size_t i = 0; i < edges.size(); i++)
      PyTuple_SET_ITEM(
          out.get(), Py_ssize_t(i),
          must(Py_BuildValue("(Ni)", must(wrap_node(edges[i].node)), int(edges[i].input_nr))));
    return out.release();
  });
}
PyObject* node_variable(PyObject* o, void*) {
  auto* leaf = dynamic_cast<AccumulateGrad*>(&node_of(o));
  if (!leaf) {
    PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute 'variable'",
                 node_of(o).name());
    return nullptr;
  }
  return wrap(leaf->variable);
}
PyObject* node_sequence(PyObject* o, PyObject*) {
  return PyLong_FromUnsignedLongLong(node_of(o).sequence);
}

// A Python callable kept by C++, released with the GIL held.
std::shared_ptr<PyObject> keep(PyObject* f) {
  return {incref(f), [](PyObject* p) {
            WithGil gil;
            Py_DECREF(p);
          }};
}

Object call(PyObject* f, const Tensor& t) {
  Object arg(must(wrap(t)));
  return Object(must(PyObject_CallOneArg(f, arg.get())));
}

GradHook grad_hook(PyObject* f) {
  return [kept = keep(f)](const Tensor& g) -> Tensor {
    WithGil gil;
    Object out = call(kept.get(), g);
    if (out.get() == Py_None) return Tensor();
    check<TypeError>(is_tensor(out.get()), "hook must return a Tensor or None, got ",
                     Py_TYPE(out.get())->tp_name);
    const Tensor& t = as_tensor(out.get());
    check(equal(t.sizes(), g.sizes()), "a hook has changed the size of value (was ", g.sizes(),
          " got ", t.sizes(), ")");
    check(t.dtype() == g.dtype(), "a hook has changed the type of value (was ", g.dtype(), " got ",
          t.dtype(), ")");
    check(t.device() == g.device(), "a hook has changed the device of value (was ", g.device(),
          " got ", t.device(), ")");
    return t;
  };
}

Object wrap_grads(const Grads& grads) {
  Object out(must(PyTuple_New(Py_ssize_t(grads.size()))));
  for (size_t i = 0; i < grads.size(); i++)
    PyTuple_SET_ITEM(out.get(), Py_ssize_t(i), must(wrap(grads[i])));
  return out;
}

TensorList tensor_list(PyObject* o, const char* what) {
  Object items(must(PySequence_Tuple(o)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); i++) {
    PyObject* t = PyTuple_GET_ITEM(items.get(), i);
    check<TypeError>(is_tensor(t), what, ": expected Tensors, got ", Py_TYPE(t)->tp_name,
                     " at position ", i);
  }
  return as_tensor_list(items.get());
}

Grads unwrap_grads(PyObject* o, const char* what) {
  Object items(PyTuple_Check(o) || PyList_Check(o) ? must(PySequence_Tuple(o))
                                                   : must(PyTuple_Pack(1, o)));
  Grads out;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); i++) {
    PyObject* g = PyTuple_GET_ITEM(items.get(), i);
    if (g == Py_None) {
      out.emplace_back();
      continue;
    }
    check<TypeError>(is_tensor(g), what, ": expected Tensor or None, got ", Py_TYPE(g)->tp_name);
    out.push_back(as_tensor(g));
  }
  return out;
}

PyObject* node_register_hook(PyObject* o,
                             PyObject* f) {  // (grad_inputs, grad_outputs) -> grad_inputs
  return guarded([&]() -> PyObject* {
    uint64_t id = next_hook_id();
    node_of(o).make_hooks().post.push_back(
        {id, [kept = keep(f)](Grads inputs, const Grads& outputs) {
           WithGil gil;
           Object a = wrap_grads(inputs), b = wrap_grads(outputs);
           Object out(must(PyObject_CallFunctionObjArgs(kept.get(), a.get(), b.get(), nullptr)));
           return out.get() == Py_None ? inputs : unwrap_grads(out.get(), "hook");
         }});
    return PyLong_FromUnsignedLongLong(id);
  });
}
PyObject* node_register_prehook(PyObject* o, PyObject* f) {
  return guarded([&]() -> PyObject* {
    uint64_t id = next_hook_id();
    node_of(o).make_hooks().pre.push_back(
        {id, [kept = keep(f)](Grads grads) {
           WithGil gil;
           Object a = wrap_grads(grads);
           Object out(must(PyObject_CallOneArg(kept.get(), a.get())));
           return out.get() == Py_None ? grads : unwrap_grads(out.get(), "prehook");
         }});
    return PyLong_FromUnsignedLongLong(id);
  });
}

template <class V>
void erase_id(V& list, uint64_t id) {
  std::erase_if(list, [&](auto& h) { return h.id == id; });
}
void remove_from(NodeHooks& hooks, uint64_t id) {
  erase_id(hooks.tensor, id);
  erase_id(hooks.retain, id);
  erase_id(hooks.pre, id);
  erase_id(hooks.post, id);
}
PyObject* node_remove_hook(PyObject* o, PyObject* id) {
  return guarded([&]() -> PyObject* {
    if (node_of(o).hooks) remove_from(*node_of(o).hooks, uint64_t(as_int(id)));
    Py_RETURN_NONE;
  });
}

PyGetSetDef node_getset[] = {{"next_functions", node_next, nullptr, nullptr, nullptr},
                             {"variable", node_variable, nullptr, nullptr, nullptr},
                             {}};
PyMethodDef node_methods[] = {{"name", node_name, METH_NOARGS, nullptr},
                              {"_sequence_nr", node_sequence, METH_NOARGS, nullptr},
                              {"_register_hook", node_register_hook, METH_O, nullptr},
                              {"_register_prehook", node_register_prehook, METH_O, nullptr},
                              {"_remove_hook", node_remove_hook, METH_O, nullptr},
                              {}};

PyTypeObject* node_type(const char* name) {
  static auto* types = new std::unordered_map<std::string, PyTypeObject*>();
  auto& type = (*types)[name];
  if (!type) {
    auto* full = new std::string(std::string("torch.autograd.graph.") + name);
    PyType_Slot slots[] = {{0, nullptr}};
    PyType_Spec spec{full->c_str(), sizeof(PyNode), 0,
                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    Object bases(must(PyTuple_Pack(1, node_base)));
    type = reinterpret_cast<PyTypeObject*>(must(PyType_FromSpecWithBases(&spec, bases.get())));
  }
  return type;
}

// ---- custom functions
// -----------------------------------------------------------------------------------

// autograd.Function: `backward(ctx, saved, grads)` is called with the unpacked saved tensors.
struct FunctionNode final : Node {
  std::string label;
  std::shared_ptr<PyObject> context, backward;
  std::vector<SavedTensor> saved;
  const char* own_name() const override { return label.c_str(); }
  void release_saved() override {
    for (auto& s : saved) s.reset();
  }
  Grads apply(Grads grads) override {
    WithGil gil;
    Object tensors(must(PyTuple_New(Py_ssize_t(saved.size()))));
    for (size_t i = 0; i < saved.size(); i++)
      PyTuple_SET_ITEM(tensors.get(), Py_ssize_t(i), must(wrap(saved[i].get(*this))));
    Object gs = wrap_grads(grads);
    Object out(must(PyObject_CallFunctionObjArgs(backward.get(), context.get(), tensors.get(),
                                                 gs.get(), nullptr)));
    return unwrap_grads(out.get(), label.c_str());
  }
};

// _attach_function(name, ctx, backward, inputs, outputs, dirty, flat, to_save) gives outputs their
// history.
PyObject* attach_function(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char* name;
    PyObject *context, *backward, *inputs, *outputs, *dirty, *flat, *to_save;
    if (!PyArg_ParseTuple(args, "sOOOOOOO", &name, &context, &backward, &inputs, &outputs, &dirty,
                          &flat, &to_save))
      return nullptr;
    auto node = make_ref<FunctionNode>();
    node->label = name;
    node->context = keep(context);
    node->backward = keep(backward);
    for (auto& t : tensor_list(inputs, "inputs")) add_edge(*node, t);
    TensorList outs = tensor_list(outputs, "outputs"), changed = tensor_list(dirty, "mark_dirty");
    TensorList constant = tensor_list(flat, "mark_non_differentiable");
    auto contains = [](const TensorList& list, const Tensor& t) {
      for (auto& x : list)
        if (x.is_same(t)) return true;
      return false;
    };
    for (auto& t : outs) {
      if (contains(constant, t)) {
        node->add_output(t);
      } else if (contains(changed, t)) {
        check_inplace(t, name);
        bump_version(t, "autograd.Function");
        rebase_history(t, node);
      } else {
        set_history(t, node);
      }
    }
    Object kept(must(PySequence_Tuple(to_save)));
    PyObject** items = PySequence_Fast_ITEMS(kept.get());
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kept.get()); i++) {
      SavedTensor s;
      if (items[i] != Py_None) {
        check<TypeError>(is_tensor(items[i]),
                         "save_for_backward can only save variables, but argument ", i,
                         " is of type ", Py_TYPE(items[i])->tp_name);
        s.save(as_tensor(items[i]), contains(outs, as_tensor(items[i])));
      }
      node->saved.push_back(std::move(s));
    }
    return wrap_node(node);
  });
}

// ---- module functions
// --------------------------------------------------------------------------------------

// _run_backward(tensors, grads, retain, create, inputs, allow_unused, accumulate)
PyObject* run_backward_py(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *tensors, *grads, *inputs;
    int retain, create, unused, accumulate;
    if (!PyArg_ParseTuple(args, "OOppOpp", &tensors, &grads, &retain, &create, &inputs, &unused,
                          &accumulate))
      return nullptr;
    BackwardOptions options{retain != 0, create != 0, unused != 0, accumulate != 0};
    Grads out = run_backward(tensor_list(tensors, "backward"), unwrap_grads(grads, "grad_outputs"),
                             tensor_list(inputs, "inputs"), options);
    return wrap_grads(out).release();
  });
}
PyObject* set_grad_enabled_py(PyObject*, PyObject* v) {
  thread_state.grad_mode = v == Py_True;
  Py_RETURN_NONE;
}
PyObject* is_grad_enabled_py(PyObject*, PyObject*) {
  return PyBool_FromLong(thread_state.grad_mode);
}
PyObject* set_inference_py(PyObject*, PyObject* v) {
  thread_state.inference_mode = creates_inference_tensors = v == Py_True;
  Py_RETURN_NONE;
}
PyObject* is_inference_py(PyObject*, PyObject*) {
  return PyBool_FromLong(thread_state.inference_mode);
}
PyObject* set_autocast_py(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int on;
    PyObject* dtype;
    if (!PyArg_ParseTuple(args, "pO", &on, &dtype)) return nullptr;
    thread_state.autocast = on;
    thread_state.autocast_dtype = as_dtype(dtype);
    Py_RETURN_NONE;
  });
}
PyObject* get_autocast_py(PyObject*, PyObject*) {
  return Py_BuildValue("(ON)", thread_state.autocast ? Py_True : Py_False,
                       wrap(thread_state.autocast_dtype));
}
// Enters (1) or leaves (-1) a region; returns how many are open.
PyObject* autocast_depth_py(PyObject*, PyObject* by) {
  return guarded([&]() -> PyObject* {
    autocast_regions.depth += int(PyLong_AsLong(by));
    return PyLong_FromLong(autocast_regions.depth);
  });
}
PyObject* set_autocast_cache_py(PyObject*, PyObject* on) {
  autocast_regions.keep_casts = on == Py_True;
  Py_RETURN_NONE;
}
PyObject* get_autocast_cache_py(PyObject*, PyObject*) {
  return PyBool_FromLong(autocast_regions.keep_casts);
}
PyObject* clear_autocast_cache_py(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    clear_autocast_cache();
    Py_RETURN_NONE;
  });
}
PyObject* queue_callback_py(PyObject*, PyObject* f) {
  return guarded([&]() -> PyObject* {
    queue_callback([kept = keep(f)] {
      WithGil gil;
      Object done(must(PyObject_CallNoArgs(kept.get())));
    });
    Py_RETURN_NONE;
  });
}

PyMethodDef module_functions[] = {
    {"_attach_function", attach_function, METH_VARARGS, nullptr},
    {"_run_backward", run_backward_py, METH_VARARGS, nullptr},
    {"_set_grad_enabled", set_grad_enabled_py, METH_O, nullptr},
    {"is_grad_enabled", is_grad_enabled_py, METH_NOARGS,
     "Whether operators record history in this thread."},
    {"_set_inference_mode", set_inference_py, METH_O, nullptr},
    {"is_inference_mode_enabled", is_inference_py, METH_NOARGS, nullptr},
    {"_set_autocast", set_autocast_py, METH_VARARGS, nullptr},
    {"_get_autocast", get_autocast_py, METH_NOARGS, nullptr},
    {"_autocast_depth", autocast_depth_py, METH_O, nullptr},
    {"_set_autocast_cache", set_autocast_cache_py, METH_O, nullptr},
    {"_get_autocast_cache", get_autocast_cache_py, METH_NOARGS, nullptr},
    {"_clear_autocast_cache", clear_autocast_cache_py, METH_NOARGS, nullptr},
    {"_queue_callback", queue_callback_py, METH_O, nullptr},
    {}};

// ---- methods of Tensor
// ---------------------------------------------------------------------------------------

PyObject* add_hook(PyObject* o, PyObject* f) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = as_tensor(o);
    check(wants_grad(t), "cannot register a hook on a tensor that doesn't require gradient");
    check<TypeError>(PyCallable_Check(f), "register_hook: hook must be callable, got ",
                     Py_TYPE(f)->tp_name);
    uint64_t id = next_hook_id();
    if (Ref<Node> fn = grad_fn(t))
      fn->make_hooks().tensor.push_back({id, meta_of(t).output_nr, grad_hook(f)});
    else
      meta_of(t).hooks.push_back({id, 0, grad_hook(f)});
    return PyLong_FromUnsignedLongLong(id);
  });
}
PyObject* add_post_accumulate(PyObject* o, PyObject* f) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = as_tensor(o);
    check(wants_grad(t) && is_leaf(t),
          "post accumulate grad hooks cannot be registered on non-leaf tensors");
    uint64_t id = next_hook_id();
    meta_of(t).post_accumulate.emplace_back(id, [kept = keep(f)](const Tensor& v) {
      WithGil gil;
      call(kept.get(), v);
    });
    return PyLong_FromUnsignedLongLong(id);
  });
}
PyObject* remove_hook(PyObject* o, PyObject* id_object) {
  return guarded([&]() -> PyObject* {
    uint64_t id = uint64_t(as_int(id_object));
    if (auto* m = meta_if(as_tensor(o))) {
      erase_id(m->hooks, id);
      std::erase_if(m->post_accumulate, [&](auto& h) { return h.first == id; });
      if (m->grad_fn && m->grad_fn->hooks) remove_from(*m->grad_fn->hooks, id);
    }
    Py_RETURN_NONE;
  });
}
PyObject* retain_grad(PyObject* o, PyObject*) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = as_tensor(o);
    check(wants_grad(t), "can't retain_grad on Tensor that has requires_grad=False");
    if (is_leaf(t) || meta_of(t).retains_grad) Py_RETURN_NONE;
    meta_of(t).retains_grad = true;
    // weak: the node must not keep the tensor that keeps the node
    auto* impl = t.impl();
    grad_fn(t)->make_hooks().retain.push_back(
        {next_hook_id(), meta_of(t).output_nr, [impl](const Tensor& g) {
           if (impl->use_count() == 0) return Tensor();
           Tensor self{Ref<TensorImpl>(impl)};
           auto& meta = meta_of(self);
           meta.grad = meta.grad.defined() ? ops::add(meta.grad, g, 1) : g;
           return Tensor();
         }});
    Py_RETURN_NONE;
  });
}

}  // namespace

PyMethodDef autograd_methods[] = {
    {"_add_hook", add_hook, METH_O, nullptr},
    {"_add_post_accumulate_hook", add_post_accumulate, METH_O, nullptr},
    {"_remove_hook", remove_hook, METH_O, nullptr},
    {"retain_grad", retain_grad, METH_NOARGS,
     "Keeps .grad of this non-leaf tensor after backward."},
    {}};

PyObject* wrap_node(const Ref<Node>& node) {
  if (!node) Py_RETURN_NONE;
  if (node->pyobject) return incref(static_cast<PyObject*>(node->pyobject));
  PyTypeObject* type = node_type(type_name(*node));
  PyObject* o = must(type->tp_alloc(type, 0));
  new (&reinterpret_cast<PyNode*>(o)->node) Ref<Node>(node);
  node->pyobject = o;
  return o;
}

void add_autograd(PyObject* module) {
  current_call_site = find_site;
  describe_call_site = describe_site;
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(node_dealloc)},
                         {Py_tp_repr, reinterpret_cast<void*>(node_repr)},
                         {Py_tp_getset, node_getset},
                         {Py_tp_methods, node_methods},
                         {0, nullptr}};
  PyType_Spec spec{"flambeau._C.Node", sizeof(PyNode), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                   slots};
  node_base = reinterpret_cast<PyTypeObject*>(must(PyType_FromSpec(&spec)));
  must(PyModule_AddObjectRef(module, "Node", reinterpret_cast<PyObject*>(node_base)));
  must(PyModule_AddFunctions(module, module_functions));
}

}  // namespace flambeau::bind
