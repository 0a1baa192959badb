// Exchange with Python containers, NumPy, the buffer protocol, DLPack and storages.
#pragma once
#include "bind/python.h"
#include "core/storage.h"
#include "core/tensor.h"

namespace flambeau::bind {

// What an exported array keeps alive: the geometry and the storage, which must not move meanwhile.
struct BufferShape {
  Dims sizes, strides;
  Ref<Storage> storage;
  explicit BufferShape(const Tensor& t)
      : sizes(t.sizes()), strides(t.strides()), storage(t.storage()) {
    storage->pin();
  }
  BufferShape(const BufferShape&) = delete;
  ~BufferShape() { storage->unpin(); }
};

// A dual tensor shows its primal.
Tensor primal_of(Tensor t);
void add_dlpack(PyObject* module);

extern PyMethodDef interop_methods[];  // methods of Tensor
void add_interop(PyObject* module);
int tensor_getbuffer(PyObject* self, Py_buffer* view, int flags);
void tensor_releasebuffer(PyObject* self, Py_buffer* view);

PyObject* wrap_storage(const Ref<Storage>& s);
const Ref<Storage>& storage_ref(PyObject* o);  // of an UntypedStorage

}  // namespace flambeau::bind
