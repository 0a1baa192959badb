// Exchange with Python containers, NumPy, the buffer protocol, DLPack and storages.
#pragma once
#include "bind/python.h"
#include "core/storage.h"

namespace flambeau::bind {

extern PyMethodDef interop_methods[];  // methods of Tensor
void add_interop(PyObject* module);
int tensor_getbuffer(PyObject* self, Py_buffer* view, int flags);
void tensor_releasebuffer(PyObject* self, Py_buffer* view);

PyObject* wrap_storage(const Ref<Storage>& s);
const Ref<Storage>& storage_ref(PyObject* o);  // of an UntypedStorage

}  // namespace flambeau::bind
