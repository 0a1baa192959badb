#include "bind/parser.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "bind/convert.h"
#include "bind/override.h"
#include "bind/tensor_type.h"
#include "core/transform.h"

namespace flambeau::bind {

namespace {

// A 0-d NumPy array of integers counts as one.
bool is_integer_array(PyObject* o) {
  if (std::strcmp(Py_TYPE(o)->tp_name, "numpy.ndarray") != 0) return false;
  Object index(PyNumber_Index(o));
  PyErr_Clear();
  return bool(index);
}

bool is_integer(PyObject* o) {
  if (PyLong_Check(o)) return true;
  if (is_tensor(o)) {
    const Tensor& t = as_tensor(o);
    return t.numel() == 1 && category(t.dtype()) <= Category::Integral;
  }
  return PyIndex_Check(o) && (!PySequence_Check(o) || is_integer_array(o));
}

bool is_sequence(PyObject* o) { return PyTuple_Check(o) || PyList_Check(o); }

template <class F>
bool all_items(PyObject* o, F&& f) {
  PyObject** items = PySequence_Fast_ITEMS(o);
  for (Py_ssize_t i = 0, n = PySequence_Fast_GET_SIZE(o); i < n; i++)
    if (!f(items[i])) return false;
  return true;
}

const char* kind_name(Kind k) {
  switch (k) {
    case Kind::Tensor:
    case Kind::WeakTensor:
    case Kind::OptTensor:
    case Kind::Out:
      return "Tensor";
    case Kind::TensorList:
    case Kind::OptTensorList:
    case Kind::OutTuple:
      return "tuple of Tensors";
    case Kind::Operand:
      return "Tensor or Number";
    case Kind::Scalar:
    case Kind::OptScalar:
      return "Number";
    case Kind::Int:
    case Kind::OptInt:
      return "int";
    case Kind::Ints:
    case Kind::OptInts:
      return "tuple of ints";
    case Kind::Float:
    case Kind::OptFloat:
      return "float";
    case Kind::Bool:
    case Kind::OptBool:
      return "bool";
    case Kind::Str:
    case Kind::OptStr:
      return "str";
    case Kind::DType:
    case Kind::OptDType:
      return "torch.dtype";
    case Kind::OptDevice:
      return "torch.device";
    case Kind::OptLayout:
    case Kind::OptLayoutName:
      return "torch.layout";
    case Kind::OptMemoryFormat:
      return "torch.memory_format";
    default:
      return "torch.Generator";
  }
}

bool optional(const Param& p) {
  switch (p.kind) {
    case Kind::OptTensor:
    case Kind::OptScalar:
    case Kind::OptInt:
    case Kind::OptInts:
    case Kind::OptFloat:
    case Kind::OptBool:
    case Kind::OptStr:
    case Kind::OptDType:
    case Kind::OptDevice:
    case Kind::OptLayout:
    case Kind::OptLayoutName:
    case Kind::OptMemoryFormat:
    case Kind::OptGenerator:
    case Kind::Out:
    case Kind::OutTuple:
      return true;
    case Kind::Ints:  // None stands for the default
      return !p.required;
    default:
      return false;
  }
}

PyObject* interned(Param& p) {
  if (!p.interned) p.interned = PyUnicode_InternFromString(p.name);
  return p.interned;
}

// Other names of parameters: those that NumPy users write, and those of `split`, which differ
// between the function and the method.
constexpr std::pair<std::string_view, const char*> kOtherNames[] = {
    {"dim", "axis"}, {"keepdim", "keepdims"}, {"input", "x"},
    {"other", "x2"}, {"input", "tensor"},     {"split_size_or_sections", "split_size"},
};

bool is_other_name(const char* parameter, PyObject* name) {
  for (auto [of, other] : kOtherNames)
    if (of == parameter && PyUnicode_CompareWithASCIIString(name, other) == 0) return true;
  return false;
}

int find_keyword(const Signature& s, int from, PyObject* name) {
  for (int i = from; i < s.count; i++)
    if (interned(s.params[i]) == name) return i;
  for (int i = from; i < s.count; i++)
    if (PyUnicode_Compare(interned(s.params[i]), name) == 0) return i;
  for (int i = from; i < s.count; i++)
    if (is_other_name(s.params[i].name, name)) return i;
  return -1;
}

}  // namespace

struct Bound::Try {
  Bound& b;

  bool tensor(PyObject* o) {
    if (is_plain_tensor(o)) return true;
    if (torch_function_enabled && has_override(o)) {
      auto& list = b.overriders_;
      if (std::find(list.begin(), list.end(), o) == list.end()) list.push_back(o);
      return true;
    }
    return is_tensor(o);
  }
  bool integers(PyObject* o, const Param& p) {
    if (is_sequence(o)) {
      if (p.expand && p.expand != kLoneInt && PySequence_Fast_GET_SIZE(o) != p.expand &&
          PySequence_Fast_GET_SIZE(o) != 1 &&
          !(p.kind == Kind::OptInts && PySequence_Fast_GET_SIZE(o) == 0))
        return false;
      return all_items(o, is_integer);
    }
    return p.expand && is_integer(o) && !PyBool_Check(o);
  }
  bool accepts(PyObject* o, const Param& p) {
    switch (p.kind) {
      case Kind::Tensor:
      case Kind::OptTensor:
      case Kind::Out:
        return tensor(o);
      case Kind::WeakTensor:
        if (p.expand && !tensor(o)) return b.at[1] && is_tensor(b.at[1]) && is_number(o);
        [[fallthrough]];
      case Kind::Operand:
        return tensor(o) || is_number(o);
      case Kind::Scalar:
      case Kind::OptScalar:
        return is_number(o) || (is_tensor(o) && as_tensor(o).dim() == 0);
      case Kind::Int:
      case Kind::OptInt:
        return is_integer(o);
      case Kind::Ints:
      case Kind::OptInts:
        return integers(o, p);
      case Kind::Float:
      case Kind::OptFloat:
        return (is_number(o) && !PyComplex_Check(o)) || (is_tensor(o) && as_tensor(o).dim() == 0);
      case Kind::Bool:
      case Kind::OptBool:
        return PyBool_Check(o) || is_numpy_bool(o);
      case Kind::Str:
      case Kind::OptStr:
        return PyUnicode_Check(o);
      case Kind::DType:
      case Kind::OptDType:
        return is_dtype(o);
      case Kind::OptDevice:
        return is_device(o);
      case Kind::OptLayout:
        b.sparse_layout_ |= is_sparse_layout(o) || b.of_sparse();
        return is_layout(o);
      case Kind::OptLayoutName:
        return is_layout(o);
      case Kind::OptMemoryFormat:
        return is_memory_format(o);
      case Kind::OptGenerator:
        return is_generator(o);
      case Kind::TensorList:
      case Kind::OutTuple:
        return is_sequence(o) && all_items(o, [&](PyObject* x) { return tensor(x); });
      case Kind::OptTensorList:
        return is_sequence(o) &&
               all_items(o, [&](PyObject* x) { return x == Py_None || tensor(x); });
    }
    return false;
  }
};

bool Bound::of_sparse() const { return at[0] && is_tensor(at[0]) && is_sparse(as_tensor(at[0])); }

bool Bound::attempt(const Signature& s, PyObject* self, PyObject* const* args, Py_ssize_t n,
                    PyObject* kwnames, std::string* why) {
  Try check{*this};
  for (int i = 0; i < s.count; i++) at[i] = nullptr;
  int slot = 0;
  if (self) at[slot++] = self;
  auto refuse = [&](int i, PyObject* o) {
    if (why)
      *why = cat_text("argument '", s.params[i].name, "' (position ", i + (self ? 0 : 1),
                      ") must be ", kind_name(s.params[i].kind), ", not ", Py_TYPE(o)->tp_name);
    return false;
  };
  for (Py_ssize_t i = 0; i < n; i++, slot++) {
    if (slot == s.variadic && (self || slot == 0) && slot < s.positional &&
        (is_integer(args[i]) && !is_sequence(args[i]) && !PyBool_Check(args[i]))) {
      bool all = true;
      for (Py_ssize_t j = i; j < n; j++) all &= is_integer(args[j]);
      if (all) {
        if (!packed || PyTuple_GET_SIZE(packed.get()) != n - i) {
          packed = Object(must(PyTuple_New(n - i)));
          for (Py_ssize_t j = i; j < n; j++) PyTuple_SET_ITEM(packed.get(), j - i, incref(args[j]));
        }
        at[slot] = packed.get();
        break;
      }
    }
    if (slot >= s.positional) {
      if (why)
        *why = cat_text("takes ", int(s.positional), " positional arguments but ",
                        n + (self ? 1 : 0), " were given");
      return false;
    }
    at[slot] = args[i];
  }
  if (s.count && s.variadic == 1 && self && n == 0 && !kwnames && !at[1] && s.params[1].required) {
    packed = Object(must(PyTuple_New(0)));  // x.permute() of a 0-d tensor
    at[1] = packed.get();
  }
  if (kwnames) {
    for (Py_ssize_t k = 0, m = PyTuple_GET_SIZE(kwnames); k < m; k++) {
      PyObject* name = PyTuple_GET_ITEM(kwnames, k);
      int i = find_keyword(s, self ? 1 : 0, name);
      if (i < 0) {
        if (why)
          *why = cat_text("got an unexpected keyword argument '", PyUnicode_AsUTF8(name), "'");
        return false;
      }
      if (at[i]) {
        if (why)
          *why = cat_text("argument for '", s.params[i].name,
                          "' given twice (by position and by keyword)");
        return false;
      }
      at[i] = args[n + k];
      if (at[i] == Py_None && !optional(s.params[i])) return refuse(i, at[i]);
    }
  }
  for (int i = 0; i < s.count; i++) {
    PyObject* o = at[i];
    const Param& p = s.params[i];
    if (o && o == Py_None && optional(p)) {
      at[i] = nullptr;
      continue;
    }
    if (!o) {
      if (p.required) {
        if (why)
          *why = cat_text("missing required argument '", p.name, "' (position ", i + (self ? 0 : 1),
                          ")");
        return false;
      }
      continue;
    }
    if (!check.accepts(o, p)) return refuse(i, o);
  }
  return true;
}

// What __torch_function__ receives as `func`: the method or function, looked up by name on first
// use.
static PyObject* callable_object(Callable& c, bool method) {
  PyObject*& object = method ? c.method : c.function;
  if (object) return object;
  if (method) {
    auto* type = reinterpret_cast<PyObject*>(tensor_type);
    object = PyObject_GetAttrString(type, c.name);
    if (!object && std::strncmp(c.name, "to_", 3) == 0) {  // to_int is the method int
      PyErr_Clear();
      object = PyObject_GetAttrString(type, c.name + 3);
    }
  }
  if (!object) {
    PyErr_Clear();
    Object core(must(PyImport_ImportModule("flambeau._C"))),
        ops(must(PyObject_GetAttrString(core.get(), "ops")));
    object = must(PyObject_GetAttrString(ops.get(), c.name));
  }
  return object;
}

Bound::Bound(Callable& c, PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  for (int k = 0; k < c.count; k++) {
    if (!overriders_.empty()) overriders_.clear();
    sparse_layout_ = false;
    if (attempt(c.signatures[k], self, args, n, kwnames, nullptr)) {
      which = k;
      break;
    }
  }
  if (which < 0) [[unlikely]] {
    std::string text = cat_text(c.name, "(): ");
    if (c.count == 1) {
      std::string why;
      attempt(c.signatures[0], self, args, n, kwnames, &why);
      fail<TypeError>(text, why);
    }
    text += "got (";
    for (Py_ssize_t i = 0; i < n; i++) text += cat_text(i ? ", " : "", Py_TYPE(args[i])->tp_name);
    if (kwnames)
      for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); k++)
        text += cat_text(n + k ? ", " : "", PyUnicode_AsUTF8(PyTuple_GET_ITEM(kwnames, k)), "=",
                         Py_TYPE(args[n + k])->tp_name);
    text += "), which is an invalid combination of arguments; expected one of:";
    for (int k = 0; k < c.count; k++) {
      std::string why;
      attempt(c.signatures[k], self, args, n, kwnames, &why);
      text += cat_text("\n * ", c.signatures[k].text, "\n      ", why);
    }
    fail<TypeError>(text);
  }
  if (overriders_.empty() && !function_modes && !sparse_layout_) [[likely]]
    return;
  Py_ssize_t lead = self ? 1 : 0;
  Object tuple(must(PyTuple_New(n + lead)));
  if (self) PyTuple_SET_ITEM(tuple.get(), 0, incref(self));
  for (Py_ssize_t i = 0; i < n; i++) PyTuple_SET_ITEM(tuple.get(), i + lead, incref(args[i]));
  Object kwargs(must(PyDict_New()));
  if (kwnames)
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); k++)
      must(PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(kwnames, k), args[n + k]));
  if (!overriders_.empty() || function_modes) {
    result = must(
        call_override(overriders_, callable_object(c, self != nullptr), tuple.get(), kwargs.get()));
  } else {
    Object module(must(PyImport_ImportModule("flambeau._sparse.factories"))),
        call(must(PyObject_GetAttrString(module.get(), "call"))),
        name(must(PyUnicode_FromString(c.name)));
    result = must(
        PyObject_CallFunctionObjArgs(call.get(), name.get(), tuple.get(), kwargs.get(), nullptr));
  }
  done = true;
}

}  // namespace flambeau::bind
