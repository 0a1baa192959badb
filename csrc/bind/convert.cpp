#include "bind/convert.h"

#include <cstring>

#include "autograd/node.h"
#include "core/absent.h"
#include "dispatch/operators.h"
#include "kernels/pointwise.h"
#include "ops/all.h"

namespace flambeau::bind {

bool is_number(PyObject* o) {
  if (PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o)) return true;
  if (PyUnicode_Check(o) || is_tensor(o)) return false;
  PyTypeObject* t = Py_TYPE(o);
  const bool sized = (t->tp_as_sequence && t->tp_as_sequence->sq_length) ||
                     (t->tp_as_mapping && t->tp_as_mapping->mp_length);
  if (sized) return is_numpy_bool(o);
  return (t->tp_as_number && (t->tp_as_number->nb_float || t->tp_as_number->nb_index));
}

bool is_numpy_bool(PyObject* o) {
  const char* name = Py_TYPE(o)->tp_name;
  return std::strcmp(name, "numpy.bool_") == 0 || std::strcmp(name, "numpy.bool") == 0;
}

Scalar as_scalar(PyObject* o) {
  if (PyBool_Check(o)) return Scalar(o == Py_True);
  if (PyFloat_Check(o)) return Scalar(PyFloat_AS_DOUBLE(o));
  if (PyLong_Check(o)) {
    int overflow = 0;
    long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (!overflow && v != -1) return Scalar(int64_t(v));
    const unsigned long long u = overflow ? PyLong_AsUnsignedLongLong(o) : 0;
    if (PyErr_Occurred()) throw PythonError{};  // OverflowError from 2^64 on
    return overflow ? Scalar::beyond_int64(u) : Scalar(int64_t(v));
  }
  if (PyComplex_Check(o)) {
    Py_complex z = PyComplex_AsCComplex(o);
    return Scalar(complex128_t(z.real, z.imag));
  }
  if (is_tensor(o)) return ops::item(as_tensor(o));
  if (is_numpy_bool(o)) return Scalar(as_bool(o));
  if (PyIndex_Check(o)) return Scalar(as_int(o));
  const char* dot = std::strrchr(Py_TYPE(o)->tp_name, '.');
  if (dot && std::strncmp(dot + 1, "complex", 7) == 0 && PyObject_HasAttrString(o, "__complex__")) {
    Py_complex z = PyComplex_AsCComplex(o);
    if (PyErr_Occurred()) throw PythonError{};
    return Scalar(complex128_t(z.real, z.imag));
  }
  return Scalar(as_float(o));
}

int64_t as_int(PyObject* o) {
  if (is_tensor(o)) return ops::item(as_tensor(o)).to_int();
  if (!PyLong_Check(o)) {
    Object index(must(PyNumber_Index(o)));
    return as_int(index.get());
  }
  int overflow = 0;
  long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
  if (overflow)
    fail<ValueError>("Overflow when unpacking long long: the number does not fit into 64 bits");
  if (v == -1 && PyErr_Occurred()) throw PythonError{};
  return v;
}

double as_float(PyObject* o) {
  if (PyFloat_Check(o)) return PyFloat_AS_DOUBLE(o);
  if (is_tensor(o)) return ops::item(as_tensor(o)).to_double();
  double v = PyFloat_AsDouble(o);
  if (v == -1.0 && PyErr_Occurred()) throw PythonError{};
  return v;
}

bool as_bool(PyObject* o) {
  if (o == Py_True) return true;
  if (o == Py_False) return false;
  int v = PyObject_IsTrue(o);
  must(v);
  return v;
}

std::string as_str(PyObject* o) {
  Py_ssize_t n;
  const char* s = PyUnicode_AsUTF8AndSize(o, &n);
  if (!s) throw PythonError{};
  return std::string(s, size_t(n));
}

Dims as_dims(PyObject* o, int expand) {
  Dims out;
  if (PyTuple_Check(o) || PyList_Check(o)) {
    // an item's __index__ may change the list
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); i++) {
      Object item(incref(PySequence_Fast_GET_ITEM(o, i)));
      out.push_back(as_int(item.get()));
    }
    if (expand && out.size() == 1) out = Dims(size_t(expand), out[0]);
    return out;
  }
  return Dims(size_t(std::max(expand, 1)), as_int(o));
}

std::optional<Dims> as_opt_dims(PyObject* o, int expand) {
  if (!o) return std::nullopt;
  return as_dims(o, expand);
}

Tensor as_weak_tensor(PyObject* o) {
  if (is_tensor(o)) return as_tensor(o);
  Scalar s = as_scalar(o);
  Tensor t = empty(Dims{}, s.dtype());
  fill_kernel(t, s);
  t->wrapped_number = true;
  return t;
}

TensorList as_tensor_list(PyObject* o) {
  TensorList out;
  PyObject** items = PySequence_Fast_ITEMS(o);
  Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  out.reserve(size_t(n));
  for (Py_ssize_t i = 0; i < n; i++) out.push_back(as_tensor(items[i]));
  return out;
}

std::vector<OptTensor> as_opt_tensor_list(PyObject* o) {
  std::vector<OptTensor> out;
  PyObject** items = PySequence_Fast_ITEMS(o);
  for (Py_ssize_t i = 0, n = PySequence_Fast_GET_SIZE(o); i < n; i++)
    out.push_back(items[i] == Py_None ? OptTensor() : OptTensor(as_tensor(items[i])));
  return out;
}

const Tensor& out_item(PyObject* o, int i) {
  if (!o) fail<TypeError>("out: expected a tuple of Tensors");
  if (PySequence_Fast_GET_SIZE(o) <= i)
    fail<TypeError>("out: expected a tuple with at least ", i + 1, " Tensors");
  return as_tensor(PySequence_Fast_GET_ITEM(o, i));
}

// ---- to Python
// -------------------------------------------------------------------------------------

PyObject* wrap(const TensorList& list) { return fill_tuple(list.data(), list.size()); }

PyObject* wrap(const Scalar& s) {
  switch (s.kind()) {
    case Scalar::Kind::Bool:
      return PyBool_FromLong(s.to_bool());
    case Scalar::Kind::Int:
      if (s.is_beyond_int64()) return PyLong_FromUnsignedLongLong(uint64_t(s.to_int()));
      return PyLong_FromLongLong(s.to_int());
    case Scalar::Kind::Float:
      return PyFloat_FromDouble(s.to_double());
    default: {
      auto z = s.to_complex();
      return PyComplex_FromDoubles(z.real(), z.imag());
    }
  }
}

PyObject* wrap(DType t) { return incref(dtype_object(t)); }
PyObject* wrap(const std::string& s) {
  return PyUnicode_FromStringAndSize(s.data(), Py_ssize_t(s.size()));
}

PyObject* wrap_leaf(const Tensor& t, PyObject* requires_grad) {
  if (requires_grad && as_bool(requires_grad)) set_requires_grad(t, true);
  return wrap(t);
}

PyObject* fill_tuple(const Tensor* values, size_t count) {
  Object out(must(PyTuple_New(Py_ssize_t(count))));
  for (size_t i = 0; i < count; i++)
    PyTuple_SET_ITEM(out.get(), Py_ssize_t(i), must(wrap(values[i])));
  return out.release();
}

// Each field on a line of its own.
PyObject* named_repr(PyObject* self) {
  Object fields(
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(self)), "__match_args__"));
  if (!fields.get()) return nullptr;
  std::string text = cat_text(Py_TYPE(self)->tp_name, "(");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); i++) {
    Object value(PyObject_Repr(PyTuple_GET_ITEM(self, i)));
    const char* shown = value.get() ? PyUnicode_AsUTF8(value.get()) : nullptr;
    const char* field = PyUnicode_AsUTF8(PyTuple_GET_ITEM(fields.get(), i));
    if (!shown || !field) return nullptr;
    text += cat_text(i ? ",\n" : "\n", field, "=", shown);
  }
  return PyUnicode_FromString((text + ")").c_str());
}

PyObject* fill_named(NamedResult& n, const Tensor* values, size_t count) {
  if (!n.type) {
    // PyTorch's name for these types; the strings live as long as the type
    auto* text = new std::string(cat_text("torch.return_types.", n.name));
    auto* fields = new PyStructSequence_Field[count + 1]();
    for (size_t i = 0; i < count; i++) fields[i] = {n.fields[i], nullptr};
    PyStructSequence_Desc desc{text->c_str(), nullptr, fields, int(count)};
    n.type = PyStructSequence_NewType(&desc);
    if (!n.type) throw PythonError{};
    n.type->tp_repr = named_repr;
  }
  Object out(must(PyStructSequence_New(n.type)));
  for (size_t i = 0; i < count; i++)
    PyStructSequence_SET_ITEM(out.get(), Py_ssize_t(i), must(wrap(values[i])));
  return out.release();
}

PyObject* raise_python_error() noexcept {
  auto set = [](PyObject* type, const std::exception& e) {
    if (!PyErr_Occurred()) PyErr_SetString(type, e.what());
    return nullptr;
  };
  try {
    throw;
  } catch (const PythonError&) {
    if (!PyErr_Occurred())
      PyErr_SetString(PyExc_SystemError, "error without a Python exception set");
  } catch (const TypeError& e) {
    set(PyExc_TypeError, e);
  } catch (const ValueError& e) {
    set(PyExc_ValueError, e);
  } catch (const IndexError& e) {
    set(PyExc_IndexError, e);
  } catch (const NotImplementedError& e) {
    set(PyExc_NotImplementedError, e);
  } catch (const AssertionError& e) {
    set(PyExc_AssertionError, e);
  } catch (const ModuleNotFoundError& e) {
    set(PyExc_ModuleNotFoundError, e);
  } catch (const LinAlgError& e) {
    static PyObject* type = nullptr;
    if (!type) {
      PyObject* m = PyImport_ImportModule("flambeau._errors");
      type = m ? PyObject_GetAttrString(m, "LinAlgError") : nullptr;
      PyErr_Clear();
    }
    set(type ? type : PyExc_RuntimeError, e);
  } catch (const std::bad_alloc& e) {
    PyErr_SetString(PyExc_MemoryError, "out of memory");
  } catch (const std::exception& e) {
    set(PyExc_RuntimeError, e);
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "unknown C++ exception");
  }
  return nullptr;
}

}  // namespace flambeau::bind
