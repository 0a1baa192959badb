#include "bind/override.h"

#include <structmember.h>

#include <algorithm>

#include "bind/convert.h"

namespace flambeau::bind {

constinit thread_local bool torch_function_enabled = true;
constinit thread_local int function_modes = 0;

namespace {

// ---- modes --------------------------------------------------------------------------------------

constinit thread_local bool modes_enabled = true;
thread_local std::vector<PyObject*> mode_stack;

void count_modes() { function_modes = modes_enabled ? int(mode_stack.size()) : 0; }

// The innermost mode; it does not see the calls it makes itself.
class InnermostMode {
 public:
  InnermostMode() : mode_(mode_stack.back()) {
    mode_stack.pop_back();
    count_modes();
  }
  InnermostMode(const InnermostMode&) = delete;
  ~InnermostMode() {
    mode_stack.push_back(mode_);
    count_modes();
  }
  PyObject* get() const { return mode_; }

 private:
  PyObject* mode_;
};

Object ask(PyObject* who, PyObject* function, PyObject* types, PyObject* args, PyObject* kwargs) {
  Object method(must(PyObject_GetAttrString(who, "__torch_function__")));
  return Object(must(PyObject_CallFunctionObjArgs(method.get(), function ? function : Py_None,
                                                  types, args, kwargs, nullptr)));
}

PyObject* push_mode(PyObject*, PyObject* mode) {
  mode_stack.push_back(incref(mode));
  count_modes();
  Py_RETURN_NONE;
}
PyObject* pop_mode(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    check(!mode_stack.empty(), "no mode of __torch_function__ is active, so none can be left");
    PyObject* mode = mode_stack.back();
    mode_stack.pop_back();
    count_modes();
    return mode;
  });
}
PyObject* mode_count(PyObject*, PyObject*) { return PyLong_FromSize_t(mode_stack.size()); }
PyObject* mode_at(PyObject*, PyObject* index) {
  return guarded([&]() -> PyObject* {
    const int64_t i = as_int(index);
    check<IndexError>(i >= 0 && size_t(i) < mode_stack.size(), "there is no mode number ", i, ", ",
                      mode_stack.size(), " are active");
    return incref(mode_stack[size_t(i)]);
  });
}
PyObject* set_modes(PyObject*, PyObject* on) {
  const bool before = modes_enabled;
  modes_enabled = on == Py_True;
  count_modes();
  return PyBool_FromLong(before);
}
PyObject* set_enabled(PyObject*, PyObject* on) {
  const bool before = torch_function_enabled;
  torch_function_enabled = on == Py_True;
  return PyBool_FromLong(before);
}
PyObject* is_enabled(PyObject*, PyObject*) { return PyBool_FromLong(torch_function_enabled); }
PyObject* modes_active(PyObject*, PyObject*) { return PyBool_FromLong(function_modes > 0); }

// ---- overrides of arguments ---------------------------------------------------------------------

void note(std::vector<PyObject*>& found, PyObject* o) {
  if (!is_plain_tensor(o) && has_override(o) &&
      std::find(found.begin(), found.end(), o) == found.end())
    found.push_back(o);
}
// An argument, or the items of a list.
template <class F>
void each_item(PyObject* o, F&& f) {
  if (!PyTuple_Check(o) && !PyList_Check(o)) return f(o);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); i++) f(PySequence_Fast_GET_ITEM(o, i));
}
// Once it is clear that the call of a Python function is overridden: plain tensors have a say, too,
// after the others.
void note_all(std::vector<PyObject*>& found, PyObject* o) {
  if (Py_TYPE(o) == tensor_type ? std::find(found.begin(), found.end(), o) == found.end() : false)
    found.push_back(o);
  else
    note(found, o);
}

std::string type_name(PyObject* o) { return Py_TYPE(o)->tp_name; }

// The next question is answered with no: a function that asks by itself runs its own body.
constinit thread_local bool skip_next = false;

PyObject* has_any(PyObject* const* args, Py_ssize_t n) {
  if (skip_next) [[unlikely]] {
    skip_next = false;
    Py_RETURN_FALSE;
  }
  bool found = function_modes > 0;
  if (torch_function_enabled)
    for (Py_ssize_t i = 0; i < n && !found; i++)
      found = !is_plain_tensor(args[i]) && has_override(args[i]);
  return PyBool_FromLong(found);
}
PyObject* set_skip_next(PyObject*, PyObject* on) {
  skip_next = on == Py_True;
  Py_RETURN_NONE;
}
PyObject* has_unary(PyObject*, PyObject* o) { return has_any(&o, 1); }
PyObject* has_variadic(PyObject*, PyObject* const* args, Py_ssize_t n) { return has_any(args, n); }
PyObject* has_in(PyObject*, PyObject* list) {
  Object items(PySequence_Fast(list, "has_torch_function: expected a sequence of arguments"));
  if (!items) return nullptr;
  return has_any(PySequence_Fast_ITEMS(items.get()), PySequence_Fast_GET_SIZE(items.get()));
}

// _handle_torch_function(function, relevant, args, kwargs)
PyObject* handle(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    check<TypeError>(n == 4 && PyTuple_Check(args[2]) && PyDict_Check(args[3]),
                     "_handle_torch_function: expected (function, relevant, args, kwargs)");
    Object items(must(PySequence_Fast(args[1], "relevant_args must be a sequence")));
    std::vector<PyObject*> found;
    if (torch_function_enabled) each_item(items.get(), [&](PyObject* o) { note_all(found, o); });
    return call_override(found, args[0], args[2], args[3]);
  });
}

// ---- Python functions that take part ------------------------------------------------------------

struct Overridable {
  PyObject_HEAD vectorcallfunc call;
  PyObject* function;
  PyObject* dict;
  bool modes_only;  // for factories: their argument is data, whatever its class
};
PyTypeObject* overridable_type = nullptr;
Overridable* of(PyObject* o) { return reinterpret_cast<Overridable*>(o); }

PyObject* call_function(PyObject* self, PyObject* const* args, size_t flags, PyObject* kwnames) {
  const Py_ssize_t n = PyVectorcall_NARGS(flags);
  const Py_ssize_t all = n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  std::vector<PyObject*> found;
  if (torch_function_enabled && !of(self)->modes_only)
    for (Py_ssize_t i = 0; i < all; i++) each_item(args[i], [&](PyObject* o) { note(found, o); });
  if (!function_modes && found.empty())
    return PyObject_Vectorcall(of(self)->function, args, flags, kwnames);
  return guarded([&]() -> PyObject* {
    if (torch_function_enabled && !of(self)->modes_only)
      for (Py_ssize_t i = 0; i < all; i++)
        each_item(args[i], [&](PyObject* o) { note_all(found, o); });
    Object tuple(must(PyTuple_New(n))), kwargs(must(PyDict_New()));
    for (Py_ssize_t i = 0; i < n; i++) PyTuple_SET_ITEM(tuple.get(), i, incref(args[i]));
    for (Py_ssize_t i = n; i < all; i++)
      must(PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(kwnames, i - n), args[i]));
    return call_override(found, self, tuple.get(), kwargs.get());
  });
}

// _overridable(function, modes_only=False)
PyObject* overridable_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* function;
    int modes_only = 0;
    const char* names[] = {"function", "modes_only", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|p", const_cast<char**>(names), &function,
                                     &modes_only))
      return nullptr;
    check<TypeError>(PyCallable_Check(function), "_overridable: expected a function, got ",
                     type_name(function));
    Object o(must(type->tp_alloc(type, 0)));
    of(o.get())->call = call_function;
    of(o.get())->function = incref(function);
    of(o.get())->modes_only = modes_only != 0;
    of(o.get())->dict = must(PyDict_New());
    for (const char* name : {"__name__", "__qualname__", "__module__", "__doc__"}) {
      Object value(PyObject_GetAttrString(function, name));
      if (!value) PyErr_Clear();
      must(PyDict_SetItemString(of(o.get())->dict, name, value ? value.get() : Py_None));
    }
    must(PyDict_SetItemString(of(o.get())->dict, "__wrapped__", function));
    return o.release();
  });
}
int overridable_traverse(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(o));
  Py_VISIT(of(o)->function);
  Py_VISIT(of(o)->dict);
  return 0;
}
int overridable_clear(PyObject* o) {
  Py_CLEAR(of(o)->function);
  Py_CLEAR(of(o)->dict);
  return 0;
}
void overridable_dealloc(PyObject* o) {
  PyObject_GC_UnTrack(o);
  overridable_clear(o);
  PyTypeObject* type = Py_TYPE(o);
  type->tp_free(o);
  Py_DECREF(type);
}
// What a plain function has besides (__code__, __defaults__, __annotations__) is the function's.
PyObject* overridable_getattr(PyObject* o, PyObject* name) {
  PyObject* value = PyObject_GenericGetAttr(o, name);
  if (value || !PyErr_ExceptionMatches(PyExc_AttributeError) || !of(o)->function) return value;
  PyErr_Clear();
  return PyObject_GetAttr(of(o)->function, name);
}
PyObject* overridable_bind(PyObject* o, PyObject* owner, PyObject*) {
  return owner ? PyMethod_New(o, owner) : incref(o);
}
PyObject* overridable_repr(PyObject* o) { return PyObject_Repr(of(o)->function); }
PyObject* overridable_reduce(PyObject* o, PyObject*) {
  return PyObject_GetAttrString(o, "__qualname__");
}

void add_overridable(PyObject* module) {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(Overridable, call), READONLY, nullptr},
      {"__dictoffset__", T_PYSSIZET, offsetof(Overridable, dict), READONLY, nullptr},
      {}};
  static PyMethodDef methods[] = {{"__reduce__", overridable_reduce, METH_NOARGS, nullptr}, {}};
  static PyGetSetDef getset[] = {
      {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr}, {}};
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(overridable_new)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(overridable_dealloc)},
                         {Py_tp_traverse, reinterpret_cast<void*>(overridable_traverse)},
                         {Py_tp_clear, reinterpret_cast<void*>(overridable_clear)},
                         {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                         {Py_tp_getattro, reinterpret_cast<void*>(overridable_getattr)},
                         {Py_tp_descr_get, reinterpret_cast<void*>(overridable_bind)},
                         {Py_tp_repr, reinterpret_cast<void*>(overridable_repr)},
                         {Py_tp_members, members},
                         {Py_tp_methods, methods},
                         {Py_tp_getset, getset},
                         {0, nullptr}};
  PyType_Spec spec{"flambeau._C._overridable", sizeof(Overridable), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                       Py_TPFLAGS_METHOD_DESCRIPTOR,
                   slots};
  overridable_type = reinterpret_cast<PyTypeObject*>(must(PyType_FromSpec(&spec)));
  must(
      PyModule_AddObjectRef(module, "_overridable", reinterpret_cast<PyObject*>(overridable_type)));
}

PyObject* tensor_attribute(const char* name) {
  return must(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), name));
}
// The owner of a method or attribute is asked last, even when it is a plain tensor.
std::vector<PyObject*> overrider(PyObject* o) {
  return torch_function_enabled ? std::vector<PyObject*>{o} : std::vector<PyObject*>{};
}

PyMethodDef module_functions[] = {
    {"_set_torch_function_enabled", set_enabled, METH_O, nullptr},
    {"_set_torch_function_modes_enabled", set_modes, METH_O, nullptr},
    {"_is_torch_function_enabled", is_enabled, METH_NOARGS, nullptr},
    {"_is_torch_function_mode_enabled", modes_active, METH_NOARGS, nullptr},
    {"_push_on_torch_function_stack", push_mode, METH_O, nullptr},
    {"_pop_torch_function_stack", pop_mode, METH_NOARGS, nullptr},
    {"_len_torch_function_stack", mode_count, METH_NOARGS, nullptr},
    {"_get_function_stack_at", mode_at, METH_O, nullptr},
    {"_has_torch_function", has_in, METH_O,
     "has_torch_function(args): whether one of the arguments, or a mode, overrides operators."},
    {"_has_torch_function_unary", has_unary, METH_O,
     "has_torch_function_unary(arg): whether the argument, or a mode, overrides operators."},
    {"_has_torch_function_variadic", reinterpret_cast<PyCFunction>(has_variadic), METH_FASTCALL,
     "has_torch_function_variadic(*args): as has_torch_function, with separate arguments."},
    {"_set_skip_next_torch_function", set_skip_next, METH_O, nullptr},
    {"_handle_torch_function", reinterpret_cast<PyCFunction>(handle), METH_FASTCALL, nullptr},
    {}};

}  // namespace

bool has_override(PyObject* o) {
  static PyObject* name = PyUnicode_InternFromString("__torch_function__");
  static PyObject* disabled = PyUnicode_InternFromString("_disabled_torch_function_impl");
  PyTypeObject* type = Py_TYPE(o);
  if (type == tensor_type || type == parameter_type || PyLong_CheckExact(o) ||
      PyFloat_CheckExact(o) || PyUnicode_CheckExact(o) || PyBool_Check(o) || o == Py_None ||
      PyTuple_CheckExact(o) || PyList_CheckExact(o))
    return false;
  PyObject* found = _PyType_Lookup(type, name);
  if (!found) return false;
  // The marker function that classes assign to opt out.
  Object n(PyObject_GetAttrString(found, "__name__"));
  if (!n) {
    PyErr_Clear();
    return true;
  }
  return PyUnicode_Compare(n.get(), disabled) != 0;
}

PyObject* call_override(const std::vector<PyObject*>& objects, PyObject* function, PyObject* args,
                        PyObject* kwargs) {
  // Unique types, subclasses before their bases, otherwise in order.
  std::vector<PyObject*> order;
  for (PyObject* o : objects) {
    bool seen = false;
    for (PyObject* p : order) seen |= Py_TYPE(p) == Py_TYPE(o);
    if (seen) continue;
    size_t at = order.size();
    for (size_t i = 0; i < order.size(); i++)
      if (PyType_IsSubtype(Py_TYPE(o), Py_TYPE(order[i]))) {
        at = i;
        break;
      }
    order.insert(order.begin() + long(at), o);
  }
  Object types(must(PyTuple_New(Py_ssize_t(order.size()))));
  for (size_t i = 0; i < order.size(); i++)
    PyTuple_SET_ITEM(types.get(), Py_ssize_t(i),
                     incref(reinterpret_cast<PyObject*>(Py_TYPE(order[i]))));
  std::string asked;
  if (function_modes) {
    InnermostMode mode;
    Object result = ask(mode.get(), function, types.get(), args, kwargs);
    if (result.get() != Py_NotImplemented) return result.release();
    asked += "\n\n  - mode object of " + type_name(mode.get());
  }
  for (PyObject* o : order) {
    Object result = ask(o, function, types.get(), args, kwargs);
    if (result.get() != Py_NotImplemented) return result.release();
    asked += "\n\n  - tensor subclass " + type_name(o);
  }
  Object name(function ? PyObject_GetAttrString(function, "__name__") : PyUnicode_FromString("?"));
  fail<TypeError>("Multiple dispatch failed for '", PyUnicode_AsUTF8(must(name.get())),
                  "'; all __torch_function__ handlers returned NotImplemented:", asked);
}

PyObject* override_attribute(PyObject* self, const char* name, const char* accessor,
                             PyObject* value) {
  Object descriptor(tensor_attribute(name));
  Object function(must(PyObject_GetAttrString(descriptor.get(), accessor)));
  Object args(must(value ? PyTuple_Pack(2, self, value) : PyTuple_Pack(1, self)));
  Object kwargs(must(PyDict_New()));
  return call_override(overrider(self), function.get(), args.get(), kwargs.get());
}

PyObject* override_method(PyObject* self, const char* name, PyObject* const* args, Py_ssize_t n,
                          PyObject* kwnames) {
  Object function(tensor_attribute(name)), tuple(must(PyTuple_New(n + 1))),
      kwargs(must(PyDict_New()));
  PyTuple_SET_ITEM(tuple.get(), 0, incref(self));
  for (Py_ssize_t i = 0; i < n; i++) PyTuple_SET_ITEM(tuple.get(), i + 1, incref(args[i]));
  for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); i++)
    must(PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(kwnames, i), args[n + i]));
  std::vector<PyObject*> found = overrider(self);
  if (torch_function_enabled)
    for (Py_ssize_t i = 0; i < n; i++) note(found, args[i]);
  return call_override(found, function.get(), tuple.get(), kwargs.get());
}

PyObject* override_operator(const char* name, PyObject* self, PyObject* other) {
  std::vector<PyObject*> found;
  if (torch_function_enabled) {
    note(found, self);
    if (other) note(found, other);
  }
  Object function(tensor_attribute(name)), kwargs(must(PyDict_New()));
  Object args(must(other ? PyTuple_Pack(2, self, other) : PyTuple_Pack(1, self)));
  return call_override(found, function.get(), args.get(), kwargs.get());
}

void add_overrides(PyObject* module) {
  add_overridable(module);
  must(PyModule_AddFunctions(module, module_functions));
}

}  // namespace flambeau::bind
