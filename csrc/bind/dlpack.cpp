// DLPack: the published ABI, with the headers of version 0 and of version 1.
#include "bind/convert.h"
#include "bind/interop.h"
#include "core/transform.h"
#include "ops/all.h"

namespace flambeau::bind {
namespace {

struct DLDevice {
  int32_t type, id;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};
struct Managed {  // version 0
  DLTensor tensor;
  void* context;
  void (*deleter)(Managed*);
  static constexpr const char *kName = "dltensor", *kUsed = "used_dltensor";
};
struct ManagedVersioned {
  uint32_t major, minor;
  void* context;
  void (*deleter)(ManagedVersioned*);
  uint64_t flags;
  DLTensor tensor;
  static constexpr const char *kName = "dltensor_versioned", *kUsed = "used_dltensor_versioned";
};
constexpr uint32_t kMajor = 1, kMinor = 0;
constexpr uint64_t kReadOnly = 1, kCopied = 2;

DLDataType type_of(DType t) {
  const uint8_t bits = uint8_t(itemsize(t) * 8);
  switch (category(t)) {
    case Category::Bool:
      return {6, 8, 1};
    case Category::Integral:
      return {uint8_t(is_unsigned(t) ? 1 : 0), bits, 1};
    case Category::Complex:
      return {5, bits, 1};
    default:
      if (t >= DType::Float8_e4m3fn) {  // kDLFloat8_e4m3fn and so on
        static const uint8_t codes[] = {10, 11, 12, 13, 14};
        return {codes[int(t) - int(DType::Float8_e4m3fn)], bits, 1};
      }
      return {uint8_t(t == DType::BFloat16 ? 4 : 2), bits, 1};
  }
}

DType dtype_from(DLDataType d) {
  check(d.lanes == 1, "from_dlpack: vector types (lanes ", d.lanes, ") are not supported");
  for (int i = 0; i < kAllDTypes; i++) {
    const DLDataType own = type_of(DType(i));
    if (own.code == d.code && own.bits == d.bits) return DType(i);
  }
  fail("from_dlpack: unsupported element type code ", int(d.code), " with ", int(d.bits), " bits");
}

template <class M>
void delete_unused(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, M::kName)) return;  // consumed
  auto* m = static_cast<M*>(PyCapsule_GetPointer(capsule, M::kName));
  m->deleter(m);
}

template <class M>
PyObject* export_as(const Tensor& t, bool copied) {
  struct Context {
    M managed;
    BufferShape shape;
  };
  auto* c = new Context{{}, BufferShape(t)};
  auto& m = c->managed;
  m.tensor = {t.bytes(),
              {1, 0},
              int32_t(t.dim()),
              type_of(t.dtype()),
              c->shape.sizes.data(),
              c->shape.strides.data(),
              0};
  m.context = c;
  m.deleter = [](M* self) { delete static_cast<Context*>(self->context); };
  if constexpr (std::is_same_v<M, ManagedVersioned>) {
    m.major = kMajor;
    m.minor = kMinor;
    m.flags = copied ? kCopied : 0;
  }
  PyObject* capsule = PyCapsule_New(&m, M::kName, delete_unused<M>);
  if (!capsule) delete c;
  return must(capsule);
}

// _to_dlpack(tensor, versioned, copied) -> capsule
PyObject* to_dlpack(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    check<TypeError>(n == 3 && is_tensor(args[0]),
                     "to_dlpack: argument 'tensor' (position 1) must be Tensor, not ",
                     n ? Py_TYPE(args[0])->tp_name : "nothing");
    const Tensor t = primal_of(as_tensor(args[0]));
    if (t.is_meta() || is_transform(t)) {
      PyErr_Format(PyExc_BufferError, "Cannot pack tensors on %s: they have no data",
                   t.is_meta() ? "meta" : "a function transform");
      throw PythonError{};
    }
    return args[1] == Py_True ? export_as<ManagedVersioned>(t, args[2] == Py_True)
                              : export_as<Managed>(t, false);
  });
}

template <class M>
PyObject* import_as(PyObject* capsule) {
  auto* m = static_cast<M*>(PyCapsule_GetPointer(capsule, M::kName));
  if constexpr (std::is_same_v<M, ManagedVersioned>) {
    if (m->major > kMajor) {
      PyErr_Format(PyExc_BufferError,
                   "from_dlpack: the capsule has DLPack version %u.%u, this "
                   "build reads %u",
                   m->major, m->minor, kMajor);
      throw PythonError{};
    }
  }
  const DLTensor& d = m->tensor;
  check(d.device.type == 1, "from_dlpack: device type ", d.device.type,
        " is not supported by this build (1, cpu, is)");
  const DType t = dtype_from(d.dtype);
  check(d.ndim >= 0 && (d.ndim == 0 || d.shape), "from_dlpack: the capsule has no shape");
  const size_t ndim = size_t(d.ndim);
  const Dims sizes{IntSpan(d.shape, ndim)};
  const Dims strides = d.strides ? Dims{IntSpan(d.strides, ndim)} : contiguous_strides(sizes);
  for (auto s : sizes) check(s >= 0, "from_dlpack: negative sizes are not supported");
  for (auto s : strides) check(s >= 0, "from_dlpack: negative strides are not supported");
  auto release = [](void* context, void*, size_t) {
    WithGil gil;
    auto* managed = static_cast<M*>(context);
    if (managed->deleter) managed->deleter(managed);
  };
  char* data = static_cast<char*>(d.data) + d.byte_offset;
  const int64_t bytes = storage_extent(sizes, strides) * itemsize(t);
  auto storage = make_ref<Storage>(data, size_t(bytes), Device{}, release, m);
  must(PyCapsule_SetName(capsule, M::kUsed));
  Tensor out = from_storage(storage, sizes, strides, 0, t);
  if constexpr (std::is_same_v<M, ManagedVersioned>)
    if (m->flags & kReadOnly) out = ops::clone(out);  // tensors can always be written to
  return wrap(out);
}

PyObject* from_dlpack(PyObject*, PyObject* capsule) {
  return guarded([&]() -> PyObject* {
    if (PyCapsule_IsValid(capsule, ManagedVersioned::kName))
      return import_as<ManagedVersioned>(capsule);
    check(PyCapsule_IsValid(capsule, Managed::kName),
          "from_dlpack received an invalid capsule. Note that DLTensor capsules can be "
          "consumed only once, so you might have already constructed a tensor from it once.");
    return import_as<Managed>(capsule);
  });
}

PyMethodDef functions[] = {
    {"_to_dlpack", reinterpret_cast<PyCFunction>(to_dlpack), METH_FASTCALL, nullptr},
    {"_from_dlpack", from_dlpack, METH_O, nullptr},
    {}};

}  // namespace

void add_dlpack(PyObject* module) { must(PyModule_AddFunctions(module, functions)); }

}  // namespace flambeau::bind
