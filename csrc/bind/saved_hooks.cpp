// Hooks that pack and unpack saved tensors, and the attributes of nodes that show what they keep.
#include <optional>

#include "bind/autograd_type.h"
#include "bind/convert.h"
#include "bind/tensor_type.h"

namespace flambeau::bind {
namespace {

// ---- hooks -------------------------------------------------------------------------------------

struct Packed final : PackedTensor {
  std::shared_ptr<PyObject> kept;  // (unpack, value)
  Tensor unpack() override {
    WithGil gil;
    auto pair = kept;  // an unpacking that runs backward may release this
    Object out(must(
        PyObject_CallOneArg(PyTuple_GET_ITEM(pair.get(), 0), PyTuple_GET_ITEM(pair.get(), 1))));
    check<TypeError>(is_tensor(out.get()),
                     "Output of saved tensor unpack_hook expected to be a Tensor but got result of "
                     "type ",
                     Py_TYPE(out.get())->tp_name);
    return as_tensor(out.get());
  }
  void* python() const override { return kept.get(); }
};

std::unique_ptr<PackedTensor> pack_by(const Tensor& t, PyObject* pack, PyObject* unpack) {
  WithGil gil;
  Object argument(must(wrap(t)));
  Object value(must(PyObject_CallOneArg(pack, argument.get())));
  Object pair(must(PyTuple_Pack(2, unpack, value.get())));
  auto out = std::make_unique<Packed>();
  out->kept = keep(pair.get());
  return out;
}

struct HookPair {
  PyObject *pack, *unpack;
};
thread_local std::vector<HookPair> hook_stack;
thread_local std::optional<std::string> refusal;  // why no hooks may be set in this thread

std::unique_ptr<PackedTensor> pack_by_hooks(const Tensor& t) {
  HookPair hooks = hook_stack.back();
  Object pack = borrow(hooks.pack), unpack = borrow(hooks.unpack);
  return pack_by(t, pack.get(), unpack.get());
}

PyObject* push_hooks(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *pack, *unpack;
    if (!PyArg_ParseTuple(args, "OO", &pack, &unpack)) return nullptr;
    if (refusal) fail(*refusal);
    hook_stack.push_back({incref(pack), incref(unpack)});
    saved_hooks = {true, pack_by_hooks};
    Py_RETURN_NONE;
  });
}
PyObject* pop_hooks(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    check(!hook_stack.empty(), "no hooks for saved tensors are set");
    HookPair last = hook_stack.back();
    hook_stack.pop_back();
    saved_hooks.on = !hook_stack.empty();
    Py_DECREF(last.pack);
    Py_DECREF(last.unpack);
    Py_RETURN_NONE;
  });
}
// The innermost pair, or None.
PyObject* top_hooks(PyObject*, PyObject*) {
  if (hook_stack.empty()) Py_RETURN_NONE;
  return PyTuple_Pack(2, hook_stack.back().pack, hook_stack.back().unpack);
}
PyObject* disable_hooks(PyObject*, PyObject* text) {
  return guarded([&]() -> PyObject* {
    if (text == Py_None) {
      refusal.reset();
      Py_RETURN_NONE;
    }
    std::string message = as_str(text);
    if (!hook_stack.empty()) fail(message);
    refusal = message;
    Py_RETURN_NONE;
  });
}
PyObject* disabled_hooks(PyObject*, PyObject*) {
  if (!refusal) Py_RETURN_NONE;
  return PyUnicode_FromString(refusal->c_str());
}

// ---- saved values of a node --------------------------------------------------------------------

// Finds the value shown as `name`: `_saved_<name>`, or raw.
struct Finder final : SavedVisitor {
  Node& node;
  std::string want;
  bool raw;
  PyObject* node_object;
  PyObject* found = nullptr;
  Finder(Node& n, std::string w, bool r, PyObject* o)
      : node(n), want(std::move(w)), raw(r), node_object(o) {}

  bool matches(const char* name) const { return !found && want == name; }
  PyObject* show(SavedTensor& t, int64_t index);
  void visit(const char* name, SavedTensor& t) override {
    if (matches(name)) found = show(t, -1);
  }
  void visit(const char* name, SavedList& list) override {
    if (!matches(name)) return;
    Object out(must(PyTuple_New(Py_ssize_t(list.items().size()))));
    for (size_t i = 0; i < list.items().size(); i++)
      PyTuple_SET_ITEM(out.get(), Py_ssize_t(i), show(list.items()[i], int64_t(i)));
    found = out.release();
  }
  void visit(const char* name, SavedOperand& o) override {
    if (!matches(name)) return;
    found = o.is_tensor() ? show(o.tensor(), -1) : raw ? nullptr : must(wrap(o.scalar()));
  }
  void visit(const char* name, const std::vector<OptTensor>& list) override {
    if (!matches(name) || raw) return;
    Object out(must(PyTuple_New(Py_ssize_t(list.size()))));
    for (size_t i = 0; i < list.size(); i++)
      PyTuple_SET_ITEM(out.get(), Py_ssize_t(i), must(wrap(list[i].value_or(Tensor()))));
    found = out.release();
  }
  template <class T>
  void plain(const char* name, const T& value) {
    if (matches(name) && !raw) found = must(wrap(value));
  }
  static PyObject* tuple_of(const Dims& d) {
    Object out(must(PyTuple_New(Py_ssize_t(d.size()))));
    for (size_t i = 0; i < d.size(); i++)
      PyTuple_SET_ITEM(out.get(), Py_ssize_t(i), must(wrap(d[i])));
    return out.release();
  }
  template <class T>
  void optional(const char* name, const std::optional<T>& value) {
    if (value)
      visit(name, *value);
    else if (matches(name) && !raw)
      found = incref(Py_None);
  }
  void visit(const char* name, const Scalar& v) override { plain(name, v); }
  void visit(const char* name, const int64_t& v) override { plain(name, v); }
  void visit(const char* name, const double& v) override { plain(name, v); }
  void visit(const char* name, const bool& v) override { plain(name, v); }
  void visit(const char* name, const std::string& v) override { plain(name, v); }
  void visit(const char* name, const DType& v) override { plain(name, v); }
  void visit(const char* name, const Dims& v) override {
    if (matches(name) && !raw) found = tuple_of(v);
  }
  void visit(const char* name, const std::vector<Dims>& list) override {
    if (!matches(name) || raw) return;
    Object out(must(PyTuple_New(Py_ssize_t(list.size()))));
    for (size_t i = 0; i < list.size(); i++)
      PyTuple_SET_ITEM(out.get(), Py_ssize_t(i), tuple_of(list[i]));
    found = out.release();
  }
  void visit(const char* name, const std::optional<Dims>& v) override { optional(name, v); }
  void visit(const char* name, const std::optional<int64_t>& v) override { optional(name, v); }
  void visit(const char* name, const std::optional<double>& v) override { optional(name, v); }
  void visit(const char* name, const std::optional<bool>& v) override { optional(name, v); }
  void visit(const char* name, const std::optional<Scalar>& v) override { optional(name, v); }
  void visit(const char* name, const std::optional<DType>& v) override { optional(name, v); }
  void visit(const char* name, const std::optional<std::string>& v) override { optional(name, v); }
};

// Collects the names.
struct Namer final : SavedVisitor {
  PyObject* list;
  explicit Namer(PyObject* l) : list(l) {}
  void add(const std::string& name) {
    Object text(must(PyUnicode_FromString(name.c_str())));
    must(PyList_Append(list, text.get()));
  }
  void value(const char* name) { add(std::string("_saved_") + name); }
  void both(const char* name) {
    value(name);
    add(std::string("_raw_saved_") + name);
  }
  void visit(const char* name, SavedTensor&) override { both(name); }
  void visit(const char* name, SavedList&) override { both(name); }
  void visit(const char* name, SavedOperand& o) override {
    o.is_tensor() ? both(name) : value(name);
  }
  void visit(const char* name, const std::vector<OptTensor>&) override { value(name); }
  void visit(const char* name, const Scalar&) override { value(name); }
  void visit(const char* name, const Dims&) override { value(name); }
  void visit(const char* name, const std::vector<Dims>&) override { value(name); }
  void visit(const char* name, const int64_t&) override { value(name); }
  void visit(const char* name, const double&) override { value(name); }
  void visit(const char* name, const bool&) override { value(name); }
  void visit(const char* name, const std::string&) override { value(name); }
  void visit(const char* name, const DType&) override { value(name); }
  void visit(const char* name, const std::optional<Dims>&) override { value(name); }
  void visit(const char* name, const std::optional<int64_t>&) override { value(name); }
  void visit(const char* name, const std::optional<double>&) override { value(name); }
  void visit(const char* name, const std::optional<bool>&) override { value(name); }
  void visit(const char* name, const std::optional<Scalar>&) override { value(name); }
  void visit(const char* name, const std::optional<DType>&) override { value(name); }
  void visit(const char* name, const std::optional<std::string>&) override { value(name); }
};

// `node._raw_saved_self`: a place in a node.
struct PySaved {
  PyObject_HEAD Ref<Node> node;
  SavedTensor* saved;
};
PyTypeObject* saved_type = nullptr;

void saved_dealloc(PyObject* o) {
  auto* self = reinterpret_cast<PySaved*>(o);
  self->node.~Ref();
  PyTypeObject* type = Py_TYPE(o);
  type->tp_free(o);
  Py_DECREF(type);
}
PyObject* saved_unpack(PyObject* o, PyObject*) {
  return guarded([&] {
    auto* self = reinterpret_cast<PySaved*>(o);
    return wrap(self->saved->get(*self->node));
  });
}
PyObject* saved_data(PyObject* o, void*) { return saved_unpack(o, nullptr); }
PyObject* saved_register(PyObject* o, PyObject* args) {
  return guarded([&]() -> PyObject* {
    HookPair hooks;
    if (!PyArg_ParseTuple(args, "OO", &hooks.pack, &hooks.unpack)) return nullptr;
    check<TypeError>(PyCallable_Check(hooks.pack) && PyCallable_Check(hooks.unpack),
                     "register_hooks: both hooks must be callable");
    reinterpret_cast<PySaved*>(o)->saved->pack(
        [](const Tensor& t, void* context) {
          auto* pair = static_cast<HookPair*>(context);
          return pack_by(t, pair->pack, pair->unpack);
        },
        &hooks);
    Py_RETURN_NONE;
  });
}

PyObject* Finder::show(SavedTensor& t, int64_t) {
  if (!raw) return must(wrap(t.get(node)));
  PyObject* o = must(PyType_GenericAlloc(saved_type, 0));
  new (&reinterpret_cast<PySaved*>(o)->node) Ref<Node>(&node);
  reinterpret_cast<PySaved*>(o)->saved = &t;
  return o;
}

PyMethodDef saved_methods[] = {{"unpack", saved_unpack, METH_NOARGS, nullptr},
                               {"register_hooks", saved_register, METH_VARARGS, nullptr},
                               {}};
PyGetSetDef saved_getset[] = {{"data", saved_data, nullptr, nullptr, nullptr}, {}};

PyMethodDef functions[] = {{"_push_saved_hooks", push_hooks, METH_VARARGS, nullptr},
                           {"_pop_saved_hooks", pop_hooks, METH_NOARGS, nullptr},
                           {"_top_saved_hooks", top_hooks, METH_NOARGS, nullptr},
                           {"_disable_saved_hooks", disable_hooks, METH_O, nullptr},
                           {"_disabled_saved_hooks", disabled_hooks, METH_NOARGS, nullptr},
                           {}};

}  // namespace

PyObject* saved_attribute(PyObject* node_object, const char* name) {
  const std::string_view text(name);
  const bool raw = text.starts_with("_raw_saved_");
  if (!raw && !text.starts_with("_saved_")) return nullptr;
  Ref<Node> node = reinterpret_cast<PyNode*>(node_object)->node;
  if (!node) return nullptr;
  Finder finder(*node, std::string(text.substr(raw ? 11 : 7)), raw, node_object);
  node->visit_saved(finder);
  return finder.found;
}

PyObject* saved_names(const Node& node) {
  Object list(must(PyList_New(0)));
  Namer namer(list.get());
  const_cast<Node&>(node).visit_saved(namer);
  return list.release();
}

void add_saved_hooks(PyObject* module) {
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(saved_dealloc)},
                         {Py_tp_methods, saved_methods},
                         {Py_tp_getset, saved_getset},
                         {0, nullptr}};
  PyType_Spec spec{"flambeau.autograd.SavedTensor", sizeof(PySaved), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  saved_type = reinterpret_cast<PyTypeObject*>(must(PyType_FromSpec(&spec)));
  must(PyModule_AddObjectRef(module, "SavedTensor", reinterpret_cast<PyObject*>(saved_type)));
  must(PyModule_AddFunctions(module, functions));
}

}  // namespace flambeau::bind
