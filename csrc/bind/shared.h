// Shared memory for Python: blocks, and what storages say of theirs.
#pragma once
#include "bind/python.h"

namespace flambeau::bind {

// Methods of UntypedStorage.
PyObject* storage_is_shared(PyObject* self, PyObject*);
PyObject* storage_share(PyObject* self, PyObject*);
PyObject* storage_shared_block(PyObject* self, PyObject*);
void add_shared(PyObject* module);

}  // namespace flambeau::bind
