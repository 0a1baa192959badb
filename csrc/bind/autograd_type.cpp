#include "bind/autograd_type.h"

#include <cstring>
#include <mutex>
#include <unordered_map>

#include "autograd/engine.h"
#include "bind/collector.h"
#include "bind/convert.h"
#include "bind/override.h"
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

PyTypeObject* node_base = nullptr;

Node& node_of(PyObject* o) {
  auto* self = reinterpret_cast<PyNode*>(o);
  check(bool(self->node), "this node has been freed with its graph");
  return *self->node;
}

void drop_node(PyNode* self) {
  Ref<Node> node = std::move(self->node);
  self->node = nullptr;
  if (node) node->pyobject = nullptr;
}
void node_dealloc(PyObject* o) {
  auto* self = reinterpret_cast<PyNode*>(o);
  PyObject_GC_UnTrack(o);
  collector::leave(self);
  drop_node(self);
  self->node.~Ref();
  PyTypeObject* type = Py_TYPE(o);
  type->tp_free(o);
  Py_DECREF(type);
}
int node_traverse(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(o));
  return collector::active
             ? collector::traverse(reinterpret_cast<PyNode*>(o)->node.get(), visit, arg)
             : 0;
}
int node_clear(PyObject* o) {
  drop_node(reinterpret_cast<PyNode*>(o));
  return 0;
}
PyObject* node_repr(PyObject* o) {
  return guarded([&] {
    return PyUnicode_FromFormat("<%s%s object at %p>",
                                function_context(node_of(o)) ? "torch.autograd.function." : "",
                                node_type_name(node_of(o)), static_cast<void*>(o));
  });
}
PyObject* node_name(PyObject* o, PyObject*) {
  return guarded([&] { return PyUnicode_FromString(node_of(o).name()); });
}
[[noreturn]] void no_attribute(PyObject* o, const char* name) {
  PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute '%s'",
               node_type_name(node_of(o)), name);
  throw PythonError{};
}
// `_saved_self`, and for a custom function what its context has.
PyObject* node_getattr(PyObject* o, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(o, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  Object a(type), b(value), c(trace);
  return guarded([&]() -> PyObject* {
    const char* text = PyUnicode_AsUTF8(name);
    if (!text) throw PythonError{};
    if (PyObject* saved = saved_attribute(o, text)) return saved;
    if (PyObject* context = function_context(node_of(o)); context && text[0] != '_')
      return must(PyObject_GetAttr(context, name));
    no_attribute(o, text);
  });
}
PyObject* node_metadata(PyObject* o, void*) {
  return guarded([&]() -> PyObject* {
    auto& kept = node_of(o).make_hooks().metadata;
    if (!kept) kept = keep(Object(must(PyDict_New())).get());
    return incref(static_cast<PyObject*>(kept.get()));
  });
}
PyObject* node_input_metadata(PyObject* o, void*) {
  return guarded([&]() -> PyObject* {
    auto& outputs = node_of(o).outputs;
    Object out(must(PyTuple_New(Py_ssize_t(outputs.size()))));
    for (size_t i = 0; i < outputs.size(); i++)
      PyTuple_SET_ITEM(out.get(), Py_ssize_t(i),
                       must(Py_BuildValue("(NNN)", wrap_size(outputs[i].sizes),
                                          wrap(outputs[i].dtype), wrap(outputs[i].device))));
    return out.release();
  });
}
PyObject* node_saved_names(PyObject* o, PyObject*) {
  return guarded([&] { return saved_names(node_of(o)); });
}
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
  return guarded([&]() -> PyObject* {
    auto* leaf = dynamic_cast<AccumulateGrad*>(&node_of(o));
    if (!leaf) no_attribute(o, "variable");
    return wrap(leaf->variable);
  });
}
PyObject* node_sequence(PyObject* o, PyObject*) {
  return guarded([&] { return PyLong_FromUnsignedLongLong(node_of(o).sequence); });
}
PyObject* node_requires_grad(PyObject*, void*) { Py_RETURN_TRUE; }

Object call(PyObject* f, const Tensor& t) {
  Object arg(must(wrap(t)));
  return Object(must(PyObject_CallOneArg(f, arg.get())));
}

// ---- what hooks return

std::string hook_name(PyObject* hook) {
  Object name(PyObject_GetAttrString(hook, "__name__"));
  if (!name.get()) {
    PyErr_Clear();
    name = Object(must(PyObject_Repr(hook)));
  }
  return as_str(name.get());
}
const char* type_name(PyObject* o) {
  const char* name = Py_TYPE(o)->tp_name;
  const char* dot = std::strrchr(name, '.');
  return dot ? dot + 1 : name;
}
// `result`, not None, in the place of a gradient.
Tensor replacement(PyObject* hook, const Tensor& g, PyObject* result) {
  check(g.defined(), "can't replace a None gradient with a non-None value");
  check<TypeError>(is_tensor(result), "expected Variable, but hook returned '", type_name(result),
                   "': a hook returns a Tensor or None");
  const Tensor& t = as_tensor(result);
  check(t.dtype() == g.dtype(), "hook '", hook_name(hook), "' has changed the type of value (was ",
        g.dtype(), " got ", t.dtype(), ")");
  check(t.device() == g.device(), "hook '", hook_name(hook),
        "' has changed the device of value (was ", g.device(), " got ", t.device(), ")");
  check(equal(t.sizes(), g.sizes()), "hook '", hook_name(hook),
        "' has changed the size of value (was ", g.sizes(), " got ", t.sizes(), ")");
  return t;
}
Grads replacements(PyObject* hook, const Grads& grads, PyObject* result) {
  if (result == Py_None) return grads;
  check<TypeError>(PyTuple_Check(result), "expected tuple, but hook returned '", type_name(result),
                   "'");
  check(size_t(PyTuple_GET_SIZE(result)) == grads.size(), "hook '", hook_name(hook),
        "' has returned an incorrect number of values (got ", PyTuple_GET_SIZE(result),
        ", but expected ", grads.size(), ")");
  Grads out;
  for (size_t i = 0; i < grads.size(); i++) {
    PyObject* value = PyTuple_GET_ITEM(result, Py_ssize_t(i));
    if (value == Py_None)
      out.emplace_back();
    else
      out.push_back(replacement(hook, grads[i], value));
  }
  return out;
}

GradHook grad_hook(PyObject* f) {
  return [kept = keep(f)](const Tensor& g) -> Tensor {
    WithGil gil;
    Object out = call(kept.get(), g);
    return out.get() == Py_None ? Tensor() : replacement(kept.get(), g, out.get());
  };
}

PyObject* node_register_hook(PyObject* o,
                             PyObject* f) {  // (grad_inputs, grad_outputs) -> grad_inputs
  return guarded([&]() -> PyObject* {
    uint64_t id = next_hook_id();
    node_of(o).make_hooks().post.push_back(
        {id,
         [kept = keep(f)](Grads inputs, const Grads& outputs) {
           WithGil gil;
           Object a(wrap_grads(inputs)), b(wrap_grads(outputs));
           Object out(must(PyObject_CallFunctionObjArgs(kept.get(), a.get(), b.get(), nullptr)));
           return replacements(kept.get(), inputs, out.get());
         },
         f});
    return PyLong_FromUnsignedLongLong(id);
  });
}
PyObject* node_register_prehook(PyObject* o, PyObject* f) {
  return guarded([&]() -> PyObject* {
    uint64_t id = next_hook_id();
    node_of(o).make_hooks().pre.push_back({id,
                                           [kept = keep(f)](Grads grads) {
                                             WithGil gil;
                                             Object a(wrap_grads(grads));
                                             Object out(
                                                 must(PyObject_CallOneArg(kept.get(), a.get())));
                                             return replacements(kept.get(), grads, out.get());
                                           },
                                           f});
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
                             {"metadata", node_metadata, nullptr, nullptr, nullptr},
                             {"_input_metadata", node_input_metadata, nullptr, nullptr, nullptr},
                             {"requires_grad", node_requires_grad, nullptr, nullptr, nullptr},
                             {}};
PyMethodDef node_methods[] = {{"name", node_name, METH_NOARGS, nullptr},
                              {"_sequence_nr", node_sequence, METH_NOARGS, nullptr},
                              {"_names_of_saved", node_saved_names, METH_NOARGS, nullptr},
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

// ---- module functions
// --------------------------------------------------------------------------------------

// Tensors, or pairs (node, number of its output).
std::vector<Target> targets(PyObject* list, const char* what) {
  Object items(must(PySequence_Tuple(list)));
  std::vector<Target> out;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); i++) {
    PyObject* o = PyTuple_GET_ITEM(items.get(), i);
    if (is_tensor(o)) {
      out.push_back({as_tensor(o), {}});
      continue;
    }
    check<TypeError>(PyTuple_Check(o) && PyTuple_GET_SIZE(o) >= 2 &&
                         PyObject_TypeCheck(PyTuple_GET_ITEM(o, 0), node_base),
                     what, ": expected Tensors or GradientEdges, got ", Py_TYPE(o)->tp_name,
                     " at position ", i);
    Node& node = node_of(PyTuple_GET_ITEM(o, 0));
    const int64_t nr = as_int(PyTuple_GET_ITEM(o, 1));
    check<IndexError>(nr >= 0 && nr < int64_t(node.outputs.size()), what, ": output ", nr, " of ",
                      node.name(), ", which has ", node.outputs.size());
    out.push_back({Tensor(), {Ref<Node>(&node), uint32_t(nr)}});
  }
  return out;
}

// _run_backward(tensors, grads, retain, create, inputs, allow_unused, accumulate)
PyObject* run_backward_py(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *tensors, *grads, *inputs;
    int retain, create, unused, accumulate;
    if (!PyArg_ParseTuple(args, "OOppOpp", &tensors, &grads, &retain, &create, &inputs, &unused,
                          &accumulate))
      return nullptr;
    BackwardOptions options{retain != 0, create != 0, unused != 0, accumulate != 0};
    return wrap_grads(run_backward(targets(tensors, "backward"),
                                   unwrap_grads(grads, "grad_outputs"), targets(inputs, "inputs"),
                                   options));
  });
}
PyObject* backward_id_py(PyObject*, PyObject*) {
  return PyLong_FromUnsignedLongLong(backward_id());
}
PyObject* is_checkpoint_valid(PyObject*, PyObject*) {
  return PyBool_FromLong(!backward_is_selective());
}
PyObject* backward_reaches_py(PyObject*, PyObject* edges) {
  return guarded([&]() -> PyObject* {
    auto list = targets(edges, "edges");
    Object out(must(PyTuple_New(Py_ssize_t(list.size()))));
    for (size_t i = 0; i < list.size(); i++)
      PyTuple_SET_ITEM(out.get(), Py_ssize_t(i),
                       PyBool_FromLong(backward_reaches(list[i].edge.node.get())));
    return out.release();
  });
}
PyObject* increment_version(PyObject*, PyObject* o) {
  return guarded([&]() -> PyObject* {
    for (auto& t : tensor_list(o, "increment_version")) bump_version(t, "increment_version");
    Py_RETURN_NONE;
  });
}
PyObject* set_grad_enabled_py(PyObject*, PyObject* v) {
  // nothing records in inference mode
  thread_state.grad_mode = v == Py_True && !thread_state.inference_mode;
  Py_RETURN_NONE;
}
PyObject* is_grad_enabled_py(PyObject*, PyObject*) { return PyBool_FromLong(grad_enabled()); }
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
    {"_run_backward", run_backward_py, METH_VARARGS, nullptr},
    {"_backward_id", backward_id_py, METH_NOARGS, nullptr},
    {"_is_checkpoint_valid", is_checkpoint_valid, METH_NOARGS, nullptr},
    {"_backward_reaches", backward_reaches_py, METH_O, nullptr},
    {"_increment_version", increment_version, METH_O, nullptr},
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
      fn->make_hooks().tensor.push_back({id, meta_of(t).output_nr, grad_hook(f), f});
    else
      meta_of(t).hooks.push_back({id, 0, grad_hook(f), f});
    return PyLong_FromUnsignedLongLong(id);
  });
}
PyObject* add_post_accumulate(PyObject* o, PyObject* f) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = as_tensor(o);
    check(wants_grad(t), "cannot register a hook on a tensor that doesn't require gradient");
    check(is_leaf(t), "post accumulate grad hooks cannot be registered on non-leaf tensors");
    uint64_t id = next_hook_id();
    meta_of(t).post_accumulate.push_back({id,
                                          [kept = keep(f)](const Tensor& v) {
                                            WithGil gil;
                                            Object out = call(kept.get(), v);
                                            if (out.get() != Py_None)
                                              replacement(kept.get(), v, out.get());
                                          },
                                          f});
    return PyLong_FromUnsignedLongLong(id);
  });
}
PyObject* remove_hook(PyObject* o, PyObject* id_object) {
  return guarded([&]() -> PyObject* {
    uint64_t id = uint64_t(as_int(id_object));
    if (auto* m = meta_if(as_tensor(o))) {
      erase_id(m->hooks, id);
      erase_id(m->post_accumulate, id);
      if (m->grad_fn && m->grad_fn->hooks) remove_from(*m->grad_fn->hooks, id);
    }
    Py_RETURN_NONE;
  });
}
PyObject* retain_grad(PyObject* o, PyObject*) {
  return guarded([&]() -> PyObject* {
    if (asks_override(o)) [[unlikely]]
      return must(override_method(o, "retain_grad"));
    const Tensor& t = as_tensor(o);
    check(wants_grad(t), "can't retain_grad on Tensor that has requires_grad=False");
    if (is_leaf(t) || meta_of(t).retains_grad) Py_RETURN_NONE;
    flambeau::retain_grad(t);
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

std::shared_ptr<PyObject> keep(PyObject* f) {
  collector::kept_objects++;
  return {incref(f), [](PyObject* p) {
            WithGil gil;
            collector::kept_objects--;
            Py_DECREF(p);
          }};
}

// name() has the namespace of some nodes, the type's name has not.
const char* node_type_name(const Node& node) {
  const char* colon = std::strrchr(node.name(), ':');
  return colon ? colon + 1 : node.name();
}

PyObject* wrap_grads(const Grads& grads) {
  Object out(must(PyTuple_New(Py_ssize_t(grads.size()))));
  for (size_t i = 0; i < grads.size(); i++)
    PyTuple_SET_ITEM(out.get(), Py_ssize_t(i), must(wrap(grads[i])));
  return out.release();
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

PyObject* wrap_node(const Ref<Node>& node) {
  if (!node) Py_RETURN_NONE;
  if (node->pyobject) return incref(static_cast<PyObject*>(node->pyobject));
  PyTypeObject* type = node_type(node_type_name(*node));
  PyObject* o = must(type->tp_alloc(type, 0));
  new (&reinterpret_cast<PyNode*>(o)->node) Ref<Node>(node);
  node->pyobject = o;
  collector::enter(reinterpret_cast<PyNode*>(o));
  return o;
}

void add_autograd(PyObject* module) {
  current_call_site = find_site;
  describe_call_site = describe_site;
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(node_dealloc)},
                         {Py_tp_traverse, reinterpret_cast<void*>(node_traverse)},
                         {Py_tp_clear, reinterpret_cast<void*>(node_clear)},
                         {Py_tp_getattro, reinterpret_cast<void*>(node_getattr)},
                         {Py_tp_repr, reinterpret_cast<void*>(node_repr)},
                         {Py_tp_getset, node_getset},
                         {Py_tp_methods, node_methods},
                         {0, nullptr}};
  PyType_Spec spec{"flambeau._C.Node", sizeof(PyNode), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                       Py_TPFLAGS_HAVE_GC,
                   slots};
  node_base = reinterpret_cast<PyTypeObject*>(must(PyType_FromSpec(&spec)));
  must(PyModule_AddObjectRef(module, "Node", reinterpret_cast<PyObject*>(node_base)));
  must(PyModule_AddFunctions(module, module_functions));
  add_function_nodes(module);
  add_saved_hooks(module);
  add_anomaly(module);
}

}  // namespace flambeau::bind
