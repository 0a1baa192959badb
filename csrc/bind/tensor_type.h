// The Python type `flambeau.Tensor` and the bridge between a TensorImpl and its Python object.
#pragma once
#include "bind/python.h"
#include "core/tensor.h"

namespace flambeau::bind {

struct PyTensor {
  PyObject_HEAD Tensor tensor;
  PyObject* dict;
  PyObject* weakrefs;
  PyTensor *before, *after;  // in the collector's ring of all tensor objects
};

extern PyTypeObject* tensor_type;     // flambeau.Tensor
extern PyTypeObject* parameter_type;  // flambeau.nn.Parameter, once it is defined

inline bool is_tensor(PyObject* o) {
  return Py_TYPE(o) == tensor_type || PyType_IsSubtype(Py_TYPE(o), tensor_type);
}
// No override protocol to look for: Tensor itself and Parameter.
inline bool is_plain_tensor(PyObject* o) {
  return Py_TYPE(o) == tensor_type || Py_TYPE(o) == parameter_type;
}
inline const Tensor& as_tensor(PyObject* o) { return reinterpret_cast<PyTensor*>(o)->tensor; }

// The Python object of a tensor (the same one as long as somebody holds it); None when undefined.
PyObject* wrap(const Tensor& t);
// A new object of `type` (a subclass of Tensor) for `t`, which must not have one.
PyObject* wrap_as(const Tensor& t, PyTypeObject* type);

PyTypeObject* make_tensor_type(PyObject* module);

}  // namespace flambeau::bind
