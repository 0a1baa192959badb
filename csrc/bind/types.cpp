// The small Python types: dtype, device, layout, memory_format, Size, Generator.
#include <cstring>
#include <memory>

#include "bind/convert.h"
#include "core/transform.h"

namespace flambeau::bind {

PyTypeObject* size_type = nullptr;

namespace {

// ---- tags: objects that are one of a few named constants
// -------------------------------------------
struct Tag {
  PyObject_HEAD int value;
};
PyTypeObject *dtype_type, *layout_type, *memory_format_type, *device_type, *generator_type;
PyObject* dtypes[kAllDTypes];
constexpr int kNumLayouts = 6;  // strided, then those of SparseLayout
PyObject* layouts[kNumLayouts];

PyObject* tag_repr(PyObject* self) {
  int v = reinterpret_cast<Tag*>(self)->value;
  if (Py_TYPE(self) == dtype_type) return PyUnicode_FromFormat("torch.%s", kDTypes[v].name);
  if (Py_TYPE(self) == layout_type)
    return PyUnicode_FromFormat("torch.%s", v ? layout_name(SparseLayout(v - 1)) : "strided");
  return PyUnicode_FromFormat("torch.%s", memory_format_name(MemoryFormat(v)));
}

PyObject* tag_reduce(PyObject* self, PyObject*) {
  Object text(must(tag_repr(self)));
  const char* name = PyUnicode_AsUTF8(text.get());
  return PyUnicode_FromString(std::strchr(name, '.') + 1);  // a global of the module flambeau
}

PyObject* dtype_get(PyObject* self, void* what) {
  DType t = DType(reinterpret_cast<Tag*>(self)->value);
  switch (reinterpret_cast<intptr_t>(what)) {
    case 0:
      return PyLong_FromLong(long(itemsize(t)));
    case 1:
      return PyBool_FromLong(is_floating(t));
    case 2:
      return PyBool_FromLong(is_complex(t));
    default:
      return PyBool_FromLong(is_signed(t));
  }
}
PyObject* dtype_to_complex(PyObject* self, PyObject*) {
  return guarded([&] { return wrap(complex_dtype(DType(reinterpret_cast<Tag*>(self)->value))); });
}
PyObject* dtype_to_real(PyObject* self, PyObject*) {
  return guarded([&] { return wrap(real_dtype(DType(reinterpret_cast<Tag*>(self)->value))); });
}

PyGetSetDef dtype_getset[] = {
    {"itemsize", dtype_get, nullptr, "bytes of one element", reinterpret_cast<void*>(0)},
    {"is_floating_point", dtype_get, nullptr, nullptr, reinterpret_cast<void*>(1)},
    {"is_complex", dtype_get, nullptr, nullptr, reinterpret_cast<void*>(2)},
    {"is_signed", dtype_get, nullptr, nullptr, reinterpret_cast<void*>(3)},
    {}};
PyMethodDef dtype_methods[] = {{"__reduce__", tag_reduce, METH_NOARGS, nullptr},
                               {"to_complex", dtype_to_complex, METH_NOARGS, nullptr},
                               {"to_real", dtype_to_real, METH_NOARGS, nullptr},
                               {}};
PyMethodDef tag_methods[] = {{"__reduce__", tag_reduce, METH_NOARGS, nullptr}, {}};

// ---- device
// ------------------------------------------------------------------------------------------
struct PyDevice {
  PyObject_HEAD Device device;
};

PyObject* device_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject *first = nullptr, *index = nullptr;
    const char* names[] = {"type", "index", nullptr};
    const char* device_names[] = {"device", "index", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O", const_cast<char**>(names), &first,
                                     &index)) {
      PyErr_Clear();
      if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O", const_cast<char**>(device_names),
                                       &first, &index))
        return nullptr;
    }
    Device d = as_device(first);
    if (index && index != Py_None) {
      check(d.index < 0,
            "type (string) must not include an index because index was passed explicitly: ",
            to_string(d));
      d.index = int8_t(as_int(index));
    }
    auto* self = reinterpret_cast<PyDevice*>(must(type->tp_alloc(type, 0)));
    self->device = d;
    return reinterpret_cast<PyObject*>(self);
  });
}
PyObject* device_repr(PyObject* self) {
  Device d = reinterpret_cast<PyDevice*>(self)->device;
  if (d.index >= 0)
    return PyUnicode_FromFormat("device(type='%s', index=%d)", device_name(d.type), int(d.index));
  return PyUnicode_FromFormat("device(type='%s')", device_name(d.type));
}
PyObject* device_str(PyObject* self) {
  return wrap(to_string(reinterpret_cast<PyDevice*>(self)->device));
}
PyObject* device_compare(PyObject* a, PyObject* b, int op) {
  if (Py_TYPE(b) != device_type || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  Device x = reinterpret_cast<PyDevice*>(a)->device, y = reinterpret_cast<PyDevice*>(b)->device;
  bool same = x.type == y.type && x.index == y.index;
  return PyBool_FromLong(same == (op == Py_EQ));
}
Py_hash_t device_hash(PyObject* self) {
  Device d = reinterpret_cast<PyDevice*>(self)->device;
  return int(d.type) * 257 + d.index + 2;
}
PyObject* device_get_type(PyObject* self, void*) {
  return PyUnicode_FromString(device_name(reinterpret_cast<PyDevice*>(self)->device.type));
}
PyObject* device_get_index(PyObject* self, void*) {
  int i = reinterpret_cast<PyDevice*>(self)->device.index;
  if (i < 0) Py_RETURN_NONE;
  return PyLong_FromLong(i);
}
PyObject* device_reduce(PyObject* self, PyObject*) {
  return Py_BuildValue("O(N)", Py_TYPE(self), device_str(self));
}
PyGetSetDef device_getset[] = {{"type", device_get_type, nullptr, nullptr, nullptr},
                               {"index", device_get_index, nullptr, nullptr, nullptr},
                               {}};
// As a context (`with device:`) or decorator: factories without a device argument use it. What that
// takes is written in Python.
PyObject* device_context(const char* function, PyObject* argument, PyObject* second = nullptr) {
  return guarded([&]() -> PyObject* {
    Object module(must(PyImport_ImportModule("flambeau._device_mode")));
    Object f(must(PyObject_GetAttrString(module.get(), function)));
    return must(PyObject_CallFunctionObjArgs(f.get(), argument, second, nullptr));
  });
}
PyObject* device_enter(PyObject* self, PyObject*) { return device_context("_enter", self); }
PyObject* device_exit(PyObject* self, PyObject*) {
  Object done(device_context("_exit", self));
  if (!done) return nullptr;
  Py_RETURN_FALSE;
}
PyObject* device_call(PyObject* self, PyObject* args, PyObject*) {
  PyObject* function;
  if (!PyArg_ParseTuple(args, "O", &function)) return nullptr;
  return device_context("device_decorator", self, function);
}
PyMethodDef device_methods[] = {{"__reduce__", device_reduce, METH_NOARGS, nullptr},
                                {"__enter__", device_enter, METH_NOARGS, nullptr},
                                {"__exit__", device_exit, METH_VARARGS, nullptr},
                                {}};

// ---- Generator
// ---------------------------------------------------------------------------------------
struct PyGenerator {
  PyObject_HEAD Generator* generator;
  bool owned;
};

PyObject* generator_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyObject* device = nullptr;
    const char* names[] = {"device", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O", const_cast<char**>(names), &device))
      return nullptr;
    if (device)
      check(as_device(device).type == DeviceType::CPU, "Generator: device must be cpu, got ",
            as_device(device));
    auto* self = reinterpret_cast<PyGenerator*>(must(type->tp_alloc(type, 0)));
    self->generator = new Generator();
    self->owned = true;
    return reinterpret_cast<PyObject*>(self);
  });
}
void generator_dealloc(PyObject* self) {
  auto* g = reinterpret_cast<PyGenerator*>(self);
  if (g->owned) delete g->generator;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}
Generator& generator_of(PyObject* self) { return *reinterpret_cast<PyGenerator*>(self)->generator; }
PyObject* generator_manual_seed(PyObject* self, PyObject* seed) {
  return guarded([&] {
    generator_of(self).manual_seed(uint64_t(as_int(seed)));
    return incref(self);
  });
}
PyObject* generator_seed(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(generator_of(self).seed());
}
PyObject* generator_initial_seed(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(generator_of(self).initial_seed());
}
PyObject* generator_get_state(PyObject* self, PyObject*) {
  return guarded([&] {
    auto state = generator_of(self).get_state();
    Tensor t = empty(Dims{int64_t(state.size())}, DType::UInt8);
    std::memcpy(t.bytes(), state.data(), state.size());
    return wrap(t);
  });
}
PyObject* generator_set_state(PyObject* self, PyObject* state) {
  return guarded([&] {
    check<TypeError>(is_tensor(state), "set_state: expected a torch.ByteTensor, got ",
                     Py_TYPE(state)->tp_name);
    const Tensor& t = as_tensor(state);
    check<TypeError>(t.dtype() == DType::UInt8 && t.is_contiguous(),
                     "expected a torch.ByteTensor, but got ", t.dtype());
    std::vector<uint8_t> bytes(t.data<uint8_t>(), t.data<uint8_t>() + t.numel());
    generator_of(self).set_state(bytes);
    return incref(self);
  });
}
PyObject* generator_device(PyObject*, void*) { return wrap(Device{}); }
PyMethodDef generator_methods[] = {
    {"manual_seed", generator_manual_seed, METH_O, "manual_seed(seed) -> Generator"},
    {"seed", generator_seed, METH_NOARGS, "Seeds from the system's randomness; returns the seed."},
    {"initial_seed", generator_initial_seed, METH_NOARGS, nullptr},
    {"get_state", generator_get_state, METH_NOARGS, nullptr},
    {"set_state", generator_set_state, METH_O, nullptr},
    {}};
PyGetSetDef generator_getset[] = {{"device", generator_device, nullptr, nullptr, nullptr}, {}};

PyTypeObject* make_type(const char* name, int size, std::initializer_list<PyType_Slot> slots,
                        unsigned flags = 0) {
  std::vector<PyType_Slot> list(slots);
  list.push_back({0, nullptr});
  PyType_Spec spec{name, size, 0, unsigned(Py_TPFLAGS_DEFAULT) | flags, list.data()};
  return reinterpret_cast<PyTypeObject*>(must(PyType_FromSpec(&spec)));
}

PyObject* make_tag(PyTypeObject* type, int value) {
  auto* t = reinterpret_cast<Tag*>(must(type->tp_alloc(type, 0)));
  t->value = value;
  return reinterpret_cast<PyObject*>(t);
}

void* fn(auto f) { return reinterpret_cast<void*>(f); }

}  // namespace

bool is_dtype(PyObject* o) {
  return Py_TYPE(o) == dtype_type || o == reinterpret_cast<PyObject*>(&PyFloat_Type) ||
         o == reinterpret_cast<PyObject*>(&PyLong_Type) ||
         o == reinterpret_cast<PyObject*>(&PyBool_Type) ||
         o == reinterpret_cast<PyObject*>(&PyComplex_Type);
}
bool is_device(PyObject* o) {
  return Py_TYPE(o) == device_type || PyUnicode_Check(o) || PyLong_Check(o);
}
bool is_layout(PyObject* o) { return Py_TYPE(o) == layout_type; }
bool is_sparse_layout(PyObject* o) { return is_layout(o) && reinterpret_cast<Tag*>(o)->value != 0; }
std::string as_layout(PyObject* o) {
  Object text(must(tag_repr(o)));
  return std::string(PyUnicode_AsUTF8(text.get())).substr(std::strlen("torch."));
}
PyObject* wrap_layout(const Tensor& t) {
  return incref(layouts[is_sparse(t) ? 1 + int(sparse_layout(t)) : 0]);
}
bool is_memory_format(PyObject* o) { return Py_TYPE(o) == memory_format_type; }
bool is_generator(PyObject* o) { return Py_TYPE(o) == generator_type; }

DType as_dtype(PyObject* o) {
  if (Py_TYPE(o) == dtype_type) return DType(reinterpret_cast<Tag*>(o)->value);
  if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::Float64;
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::Int64;
  if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::Bool;
  if (o == reinterpret_cast<PyObject*>(&PyComplex_Type)) return DType::Complex128;
  fail<TypeError>("expected a torch.dtype, got ", Py_TYPE(o)->tp_name);
}

Device as_device(PyObject* o) {
  if (Py_TYPE(o) == device_type) return reinterpret_cast<PyDevice*>(o)->device;
  if (PyUnicode_Check(o)) return parse_device(as_str(o));
  if (PyLong_Check(o)) {
    int64_t i = as_int(o);
    check(i >= 0, "Device index must not be negative");
    fail("Cannot access accelerator device when none is available.");
  }
  fail<TypeError>("expected a torch.device or str, got ", Py_TYPE(o)->tp_name);
}

MemoryFormat as_memory_format(PyObject* o) {
  return MemoryFormat(reinterpret_cast<Tag*>(o)->value);
}
Generator* as_generator(PyObject* o) { return o ? &generator_of(o) : nullptr; }
PyObject* wrap(MemoryFormat m) { return make_tag(memory_format_type, int(m)); }
PyObject* wrap(Generator* g) {
  if (!g) Py_RETURN_NONE;
  auto* self = reinterpret_cast<PyGenerator*>(must(generator_type->tp_alloc(generator_type, 0)));
  self->generator = g;
  self->owned = false;
  return reinterpret_cast<PyObject*>(self);
}
PyObject* dtype_object(DType t) { return dtypes[int(t)]; }

PyObject* wrap(Device d) {
  auto* self = reinterpret_cast<PyDevice*>(must(device_type->tp_alloc(device_type, 0)));
  self->device = d;
  return reinterpret_cast<PyObject*>(self);
}

PyObject* wrap_size(IntSpan sizes) {
  // Size is defined in Python as a subclass of tuple
  Object tuple(must(PyTuple_New(Py_ssize_t(sizes.size()))));
  for (size_t i = 0; i < sizes.size(); i++)
    PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i), must(PyLong_FromLongLong(sizes[i])));
  if (!size_type) return tuple.release();
  auto* out = reinterpret_cast<PyTupleObject*>(
      must(size_type->tp_alloc(size_type, Py_ssize_t(sizes.size()))));
  for (size_t i = 0; i < sizes.size(); i++) {
    out->ob_item[i] = PyTuple_GET_ITEM(tuple.get(), Py_ssize_t(i));
    Py_INCREF(out->ob_item[i]);
  }
  return reinterpret_cast<PyObject*>(out);
}

void add_types(PyObject* module) {
  const unsigned sealed = Py_TPFLAGS_DISALLOW_INSTANTIATION;
  dtype_type = make_type(
      "torch.dtype", sizeof(Tag),
      {{Py_tp_repr, fn(tag_repr)}, {Py_tp_getset, dtype_getset}, {Py_tp_methods, dtype_methods}},
      sealed);
  layout_type = make_type("torch.layout", sizeof(Tag),
                          {{Py_tp_repr, fn(tag_repr)}, {Py_tp_methods, tag_methods}}, sealed);
  memory_format_type =
      make_type("torch.memory_format", sizeof(Tag),
                {{Py_tp_repr, fn(tag_repr)}, {Py_tp_methods, tag_methods}}, sealed);
  device_type = make_type("torch.device", sizeof(PyDevice),
                          {{Py_tp_new, fn(device_new)},
                           {Py_tp_repr, fn(device_repr)},
                           {Py_tp_str, fn(device_str)},
                           {Py_tp_richcompare, fn(device_compare)},
                           {Py_tp_hash, fn(device_hash)},
                           {Py_tp_call, fn(device_call)},
                           {Py_tp_getset, device_getset},
                           {Py_tp_methods, device_methods}});
  generator_type = make_type("torch.Generator", sizeof(PyGenerator),
                             {{Py_tp_new, fn(generator_new)},
                              {Py_tp_dealloc, fn(generator_dealloc)},
                              {Py_tp_methods, generator_methods},
                              {Py_tp_getset, generator_getset}});
  for (int i = 0; i < kAllDTypes; i++) {
    dtypes[i] = make_tag(dtype_type, i);
    must(PyModule_AddObjectRef(module, kDTypes[i].name, dtypes[i]));
  }
  for (int i = 0; i < kNumLayouts; i++) {
    layouts[i] = make_tag(layout_type, i);
    must(PyModule_AddObjectRef(module, i ? layout_name(SparseLayout(i - 1)) : "strided",
                               layouts[i]));
  }
  for (auto m : {MemoryFormat::Contiguous, MemoryFormat::Preserve, MemoryFormat::ChannelsLast,
                 MemoryFormat::ChannelsLast3d})
    must(PyModule_AddObject(module, memory_format_name(m), make_tag(memory_format_type, int(m))));
  auto add = [&](const char* name, PyTypeObject* t) {
    must(PyModule_AddObjectRef(module, name, reinterpret_cast<PyObject*>(t)));
  };
  add("dtype", dtype_type);
  add("layout", layout_type);
  add("memory_format", memory_format_type);
  add("device", device_type);
  add("Generator", generator_type);
  auto* g = reinterpret_cast<PyGenerator*>(must(generator_type->tp_alloc(generator_type, 0)));
  g->generator = &default_generator();
  g->owned = false;
  must(PyModule_AddObject(module, "default_generator", reinterpret_cast<PyObject*>(g)));
}

}  // namespace flambeau::bind
