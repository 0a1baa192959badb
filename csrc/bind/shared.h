// Shared memory for Python: blocks, and what storages say of theirs.
#pragma once
#include "bind/python.h"
#include "runtime/shared_memory.h"

namespace flambeau::bind {

// The block of a _SharedBlock; TypeError for anything else.
const Ref<SharedBlock>& block_of(PyObject* o);

// Methods of UntypedStorage.
PyObject* storage_is_shared(PyObject* self, PyObject*);
PyObject* storage_share(PyObject* self, PyObject*);
PyObject* storage_shared_block(PyObject* self, PyObject*);
void add_shared(PyObject* module);
void add_batch(PyObject* module);  // batches as bytes

}  // namespace flambeau::bind
