// NumPy-style indexing: x[...] and x[...] = v.
#pragma once
#include "bind/python.h"

namespace flambeau::bind {
PyObject* tensor_getitem(PyObject* self, PyObject* index);
int tensor_setitem(PyObject* self, PyObject* index, PyObject* value);
}  // namespace flambeau::bind
