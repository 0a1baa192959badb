#include "bind/shared.h"

#include <algorithm>

#include "bind/interop.h"
#include "bind/tensor_type.h"
#include "runtime/shared_memory.h"

namespace flambeau::bind {
namespace {

struct PyBlock {
  PyObject_HEAD Ref<SharedBlock> block;
};
PyTypeObject* block_type = nullptr;

PyObject* wrap_block(const Ref<SharedBlock>& block) {
  PyObject* o = must(block_type->tp_alloc(block_type, 0));
  new (&reinterpret_cast<PyBlock*>(o)->block) Ref<SharedBlock>(block);
  return o;
}

void block_dealloc(PyObject* o) {
  reinterpret_cast<PyBlock*>(o)->block.~Ref();
  PyTypeObject* type = Py_TYPE(o);
  type->tp_free(o);
  Py_DECREF(type);
}

// Pages of large blocks take a while to make: other threads run meanwhile.
template <class F>
auto without_gil(F&& f) {
  struct Released {
    PyThreadState* state = PyEval_SaveThread();
    ~Released() { PyEval_RestoreThread(state); }
  } released;
  return f();
}

PyObject* new_block(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    Py_ssize_t bytes;
    int populate = 1;
    if (!PyArg_ParseTuple(args, "n|p", &bytes, &populate)) return nullptr;
    check<ValueError>(bytes >= 0, "SharedBlock: size must not be negative, got ", bytes);
    return wrap_block(without_gil([&] { return SharedBlock::create(size_t(bytes), populate); }));
  });
}

PyObject* open_block(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int descriptor;
    Py_ssize_t bytes;
    int populate = 1;
    if (!PyArg_ParseTuple(args, "in|p", &descriptor, &bytes, &populate)) return nullptr;
    check<ValueError>(bytes >= 0, "SharedBlock: size must not be negative, got ", bytes);
    return wrap_block(
        without_gil([&] { return SharedBlock::open(descriptor, size_t(bytes), populate); }));
  });
}

PyObject* block_storage(PyObject* o, PyObject* args) {
  return guarded([&]() -> PyObject* {
    Py_ssize_t offset, bytes;
    if (!PyArg_ParseTuple(args, "nn", &offset, &bytes)) return nullptr;
    check<ValueError>(offset >= 0 && bytes >= 0,
                      "SharedBlock.storage: offset and size must not be negative, got ", offset,
                      " and ", bytes);
    return wrap_storage(SharedBlock::storage(block_of(o), size_t(offset), size_t(bytes)));
  });
}

PyObject* block_close(PyObject* o, PyObject*) {
  block_of(o)->close_descriptor();
  Py_RETURN_NONE;
}

PyObject* block_descriptor(PyObject* o, void*) {
  return PyLong_FromLong(block_of(o)->descriptor());
}
PyObject* block_users(PyObject* o, void*) { return PyLong_FromLong(block_of(o)->users()); }
PyObject* block_bytes(PyObject* o, void*) { return PyLong_FromSize_t(block_of(o)->bytes()); }
PyObject* block_address(PyObject* o, void*) { return PyLong_FromVoidPtr(block_of(o)->data()); }

PyMethodDef block_methods[] = {{"storage", block_storage, METH_VARARGS,
                                "storage(offset, nbytes): a storage on a part of the block."},
                               {"close", block_close, METH_NOARGS,
                                "Closes the descriptor. The memory stays as long as it is in use."},
                               {}};
PyGetSetDef block_getset[] = {
    {"descriptor", block_descriptor, nullptr, "the file descriptor; -1 when closed", nullptr},
    {"users", block_users, nullptr, "how many living storages lie in the block", nullptr},
    {"nbytes", block_bytes, nullptr, nullptr, nullptr},
    {"address", block_address, nullptr, "where it begins in this process", nullptr},
    {}};

// _uniform(list): whether all are plain CPU tensors of one shape and dtype without gradients.
PyObject* uniform(PyObject*, PyObject* list) {
  if (!PyList_Check(list) || !PyList_GET_SIZE(list)) Py_RETURN_FALSE;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
    PyObject* o = PyList_GET_ITEM(list, i);
    if (Py_TYPE(o) != tensor_type) Py_RETURN_FALSE;
    const Tensor &t = as_tensor(o), &first = as_tensor(PyList_GET_ITEM(list, 0));
    if (t.device().type != DeviceType::CPU || t.requires_grad() || t.dtype() != first.dtype() ||
        !std::ranges::equal(t.sizes(), first.sizes()))
      Py_RETURN_FALSE;
  }
  Py_RETURN_TRUE;
}

PyMethodDef functions[] = {{"_uniform", uniform, METH_O, nullptr},
                           {"_new_shared_block", new_block, METH_VARARGS, nullptr},
                           {"_open_shared_block", open_block, METH_VARARGS, nullptr},
                           {}};

}  // namespace

const Ref<SharedBlock>& block_of(PyObject* o) {
  check<TypeError>(Py_TYPE(o) == block_type, "expected a block of shared memory, got ",
                   Py_TYPE(o)->tp_name);
  return reinterpret_cast<PyBlock*>(o)->block;
}

PyObject* storage_is_shared(PyObject* self, PyObject*) {
  return PyBool_FromLong(shared_block(*storage_ref(self)).get() != nullptr);
}

PyObject* storage_share(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    share(*storage_ref(self));
    return incref(self);
  });
}

PyObject* storage_shared_block(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    auto block = shared_block(*storage_ref(self));
    return block.get() ? wrap_block(block) : incref(Py_None);
  });
}

void add_shared(PyObject* module) {
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(block_dealloc)},
                         {Py_tp_methods, block_methods},
                         {Py_tp_getset, block_getset},
                         {0, nullptr}};
  PyType_Spec spec{"flambeau._C._SharedBlock", sizeof(PyBlock), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  block_type = reinterpret_cast<PyTypeObject*>(must(PyType_FromSpec(&spec)));
  must(PyModule_AddObjectRef(module, "_SharedBlock", reinterpret_cast<PyObject*>(block_type)));
  must(PyModule_AddFunctions(module, functions));
}

}  // namespace flambeau::bind
