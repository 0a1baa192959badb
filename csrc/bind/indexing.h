// NumPy-style indexing: x[...] and x[...] = v.
#pragma once
#include "bind/python.h"
#include "core/tensor.h"

namespace flambeau::bind {
// flambeau.tensor(o): nested sequences, arrays.
Tensor tensor_from_sequence(PyObject* o);
PyObject* tensor_getitem(PyObject* self, PyObject* index);
int tensor_setitem(PyObject* self, PyObject* index, PyObject* value);
}  // namespace flambeau::bind
