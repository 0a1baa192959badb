#include "bind/interop.h"

#include <cstring>
#include <memory>

#include "autograd/node.h"
#include "bind/convert.h"
#include "bind/shared.h"
#include "bind/tensor_type.h"
#include "core/transform.h"
#include "dispatch/promotion.h"
#include "kernels/number.h"
#include "kernels/pointwise.h"
#include "ops/all.h"

namespace flambeau::bind {
namespace {

void need_cpu(const Tensor& t, const char* what) {
  check<NotImplementedError>(!t.is_meta(), "Cannot copy out of meta tensor; no data! (", what, ")");
  check<TypeError>(!is_sparse(t), what,
                   ": can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.");
  check(!is_transform(t), what,
        ": Cannot access data pointer of Tensor that doesn't have storage: ",
        "it is inside a function transform (vmap, grad, jvp)");
}

// A dual tensor shows its primal.
Tensor primal_of(Tensor t) {
  while (is_transform(t) && record_of(t).kind == TransformKind::Dual) t = record_of(t).value;
  return t;
}

// ---- lists and numbers
// ------------------------------------------------------------------------------

PyObject* element(const char* p, DType t) {
  if (t == DType::UInt64) return PyLong_FromUnsignedLongLong(*reinterpret_cast<const uint64_t*>(p));
  if (is_storage_only(t)) {
    alignas(16) char number[16];
    convert_elements(number, info(t).compute, p, t, 1);
    return element(number, info(t).compute);
  }
  return visit(t, [&](auto tag) -> PyObject* {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, bool>) return PyBool_FromLong(*p != 0);
    const T& v = *reinterpret_cast<const T*>(p);
    if constexpr (std::is_integral_v<T>)
      return PyLong_FromLongLong(v);
    else if constexpr (std::is_same_v<T, complex64_t> || std::is_same_v<T, complex128_t>)
      return PyComplex_FromDoubles(v.real(), v.imag());
    else
      return PyFloat_FromDouble(double(v));
  });
}

PyObject* to_list(const Tensor& t, const char* p, int64_t dim) {
  if (dim == t.dim()) return must(element(p, t.dtype()));
  int64_t n = t.sizes()[size_t(dim)], step = t.strides()[size_t(dim)] * t.itemsize();
  Object list(must(PyList_New(n)));
  for (int64_t i = 0; i < n; i++) PyList_SET_ITEM(list.get(), i, to_list(t, p + i * step, dim + 1));
  return list.release();
}

PyObject* tolist(PyObject* o, PyObject*) {
  return guarded([&]() -> PyObject* {
    const Tensor t = readable(as_tensor(o), "tolist");
    need_cpu(t, "tolist");
    return to_list(t, t.bytes(), 0);
  });
}

// The items of a sequence, each held while it is looked at: conversions run Python code that may
// change the list meanwhile.
class SequenceItems {
 public:
  explicit SequenceItems(PyObject* o) : fast_(must(PySequence_Fast(o, "not a sequence"))) {}
  int64_t size() const { return PySequence_Fast_GET_SIZE(fast_.get()); }
  Object at(int64_t i) const {
    check(i < size(), "a sequence changed its length while it was read");
    return Object(incref(PySequence_Fast_GET_ITEM(fast_.get(), i)));
  }

 private:
  Object fast_;
};

// A NumPy scalar says its dtype, as an array would; float64's is a Python float, too.
std::optional<DType> numpy_scalar_dtype(PyObject* o) {
  const char* name = Py_TYPE(o)->tp_name;
  if (std::strncmp(name, "numpy.", 6) != 0) return std::nullopt;
  static const std::pair<const char*, DType> names[] = {{"bool", DType::Bool},
                                                        {"bool_", DType::Bool},
                                                        {"uint8", DType::UInt8},
                                                        {"int8", DType::Int8},
                                                        {"int16", DType::Int16},
                                                        {"int32", DType::Int32},
                                                        {"int64", DType::Int64},
                                                        {"float16", DType::Float16},
                                                        {"uint16", DType::UInt16},
                                                        {"uint32", DType::UInt32},
                                                        {"uint64", DType::UInt64},
                                                        {"float32", DType::Float32},
                                                        {"float64", DType::Float64},
                                                        {"complex64", DType::Complex64},
                                                        {"complex128", DType::Complex128}};
  for (const auto& [known, dtype] : names)
    if (std::strcmp(name + 6, known) == 0) return dtype;
  return std::nullopt;
}

// Nested sequences -> tensor: one pass to find shape and kind, one to fill.
struct SequenceScan {
  Dims sizes;
  std::optional<DType> found;

  void scan(PyObject* o, size_t depth) {
    if (is_tensor(o)) {
      const Tensor& t = as_tensor(o);
      check<ValueError>(
          t.dim() == 0 || t.numel() == 1,
          "only one element tensors can be converted to Python scalars (a tensor of shape ",
          t.sizes(), " inside a sequence)");
      note(t.dtype());
      return;
    }
    if (is_number(o)) {
      // integers of any size: a float dtype takes them
      if (PyLong_Check(o) && !PyBool_Check(o)) return note(DType::Int64);
      const auto numpy = numpy_scalar_dtype(o);
      return note(numpy ? *numpy : as_scalar(o).dtype());
    }
    check<TypeError>(!PyUnicode_Check(o) && !PyBytes_Check(o), "new(): invalid data type 'str'");
    check(PySequence_Check(o), "Could not infer dtype of ", Py_TYPE(o)->tp_name);
    SequenceItems items(o);
    const int64_t n = items.size();
    if (depth == sizes.size()) sizes.push_back(n);
    check<ValueError>(depth < sizes.size() && sizes[depth] == n, "expected sequence of length ",
                      depth < sizes.size() ? sizes[depth] : 0, " at dim ", depth, " (got ", n, ")");
    check<ValueError>(depth < 64, "too many dimensions in nested sequence");
    for (int64_t i = 0; i < n; i++) {
      Object item = items.at(i);
      const bool scalar = is_number(item.get()) || is_tensor(item.get());
      if (depth + 1 < sizes.size())
        check<TypeError>(!scalar, "not a sequence: expected one at dim ", depth + 1, ", got ",
                         Py_TYPE(item.get())->tp_name);
      else if (i > 0 && !scalar)
        fail<TypeError>("item ", i, " at dim ", depth, " is a ", Py_TYPE(item.get())->tp_name,
                        ", expected a number as the items before it");
      scan(item.get(), depth + 1);
    }
  }
  void note(DType t) {
    if (found != t) found = found ? promote(*found, t) : t;
  }
  DType dtype() const { return found.value_or(default_dtype()); }
};

template <class T>
T number_from(PyObject* o, DType t) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
    if (PyFloat_CheckExact(o)) return T(PyFloat_AS_DOUBLE(o));
  const Category kind = category(t);
  if constexpr (std::is_same_v<T, uint64_t>) {
    Object whole(must(PyNumber_Index(o)));
    const uint64_t v = PyLong_AsUnsignedLongLong(whole.get());
    if (PyErr_Occurred()) throw PythonError{};
    return v;
  }
  if (PyLong_Check(o) && !PyBool_Check(o)) {
    if (kind >= Category::Floating) return Scalar(as_float(o)).to<T>();
    int overflow = 0;
    const long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    check<ValueError>(!overflow || kind == Category::Bool, "Overflow when unpacking long long");
    if (overflow) return Scalar(true).to<T>();
    check_fits(Scalar(int64_t(v)), t);
    return Scalar(int64_t(v)).to<T>();
  }
  Scalar s = as_scalar(o);
  check<TypeError>(!s.is_complex() || kind == Category::Complex || kind == Category::Bool,
                   "must be real number, not complex (dtype ", t, ")");
  if (is_integral(t)) check_fits(s, t);  // floats beyond a dtype become infinite
  return s.to<T>();
}

// Second pass: code of the elements may run in between, so that shapes are checked again.
template <class T>
void fill_from(PyObject* o, IntSpan sizes, DType t, T*& out) {
  if (sizes.empty()) {
    *out++ = number_from<T>(o, t);
    return;
  }
  SequenceItems items(o);
  check(items.size() == sizes[0], "a sequence changed its length while it was read");
  for (int64_t i = 0; i < sizes[0]; i++) fill_from(items.at(i).get(), sizes.subspan(1), t, out);
}

// _from_sequence(data, dtype or None) -> Tensor
PyObject* from_sequence(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *data, *dtype;
    if (!PyArg_ParseTuple(args, "OO", &data, &dtype)) return nullptr;
    SequenceScan s;
    s.scan(data, 0);
    DType t = dtype == Py_None ? s.dtype() : as_dtype(dtype);
    if (t == DType::UInt64) {  // whose numbers need not fit into an int64
      Tensor out = empty(s.sizes, t);
      uint64_t* p = out.data<uint64_t>();
      if (out.numel()) fill_from<uint64_t>(data, s.sizes, t, p);
      return wrap(out);
    }
    Tensor out = empty(s.sizes, info(t).compute == t || !is_storage_only(t) ? t : info(t).compute);
    if (out.numel())
      visit(out.dtype(), [&](auto tag) {
        using T = typename decltype(tag)::type;
        T* p = out.data<T>();
        fill_from<T>(data, s.sizes, t, p);
      });
    return wrap(cast_of(out, t));
  });
}

// ---- buffer protocol
// ----------------------------------------------------------------------------------

const char* format_of(DType t) {
  switch (t) {
    case DType::Bool:
      return "?";
    case DType::UInt8:
      return "B";
    case DType::Int8:
      return "b";
    case DType::Int16:
      return "h";
    case DType::Int32:
      return "i";
    case DType::Int64:
      return "q";
    case DType::UInt16:
      return "H";
    case DType::UInt32:
      return "I";
    case DType::UInt64:
      return "Q";
    case DType::Float16:
      return "e";
    case DType::Float32:
      return "f";
    case DType::Float64:
      return "d";
    case DType::Complex64:
      return "Zf";
    case DType::Complex128:
      return "Zd";
    default:
      fail<TypeError>(
          "Got unsupported ScalarType ", info(t).scalar_type,
          ": NumPy and the buffer protocol have no such type; convert to another one first");
  }
}

DType dtype_of_format(const char* f, Py_ssize_t size) {
  if (*f == '<' || *f == '=' || *f == '@') f++;
  check<TypeError>(
      *f != '>' || size == 1,
      "byte-swapped arrays are not supported; use arr.astype(arr.dtype.newbyteorder('='))");
  switch (*f) {
    case '?':
      return DType::Bool;
    case 'B':
      return DType::UInt8;
    case 'b':
    case 'c':
      return DType::Int8;
    case 'h':
      return DType::Int16;
    case 'i':
    case 'l':
    case 'q':
    case 'n':
      return size == 8 ? DType::Int64 : size == 4 ? DType::Int32 : DType::Int16;
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'N':
      return size == 8 ? DType::UInt64 : size == 4 ? DType::UInt32 : DType::UInt16;
    case 'e':
      return DType::Float16;
    case 'f':
      return DType::Float32;
    case 'd':
      return DType::Float64;
    case 'Z':
      return f[1] == 'f' ? DType::Complex64 : DType::Complex128;
    default:
      break;
  }
  fail<TypeError>("can't convert an array with elements of format '", f,
                  "'. The only supported types are: float64, float32, float16, complex64, "
                  "complex128, int64, int32, int16, int8, uint8, and bool.");
}

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

}  // namespace

int tensor_getbuffer(PyObject* o, Py_buffer* view, int flags) {
  return guarded_status([&] {
    view->obj = nullptr;
    const Tensor t = primal_of(as_tensor(o));
    need_cpu(t, "buffer");
    check(!wants_grad(t),
          "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead. "
          "(memory shared through a buffer would change without its history)");
    if (!(flags & PyBUF_STRIDES) && !t.is_contiguous()) {
      PyErr_SetString(PyExc_BufferError, "tensor is not contiguous");
      throw PythonError{};
    }
    const char* format = (flags & PyBUF_FORMAT) ? format_of(t.dtype()) : nullptr;
    auto* shape = new BufferShape(t);
    for (auto& s : shape->strides) s *= t.itemsize();
    view->buf = t.bytes();
    view->len = t.numel() * t.itemsize();
    view->itemsize = t.itemsize();
    view->readonly = 0;
    view->ndim = int(t.dim());
    view->format = const_cast<char*>(format);
    view->shape = reinterpret_cast<Py_ssize_t*>(shape->sizes.data());
    view->strides = reinterpret_cast<Py_ssize_t*>(shape->strides.data());
    view->suboffsets = nullptr;
    view->internal = shape;
    view->obj = incref(o);
  });
}

void tensor_releasebuffer(PyObject*, Py_buffer* view) {
  delete static_cast<BufferShape*>(view->internal);
}

namespace {

// _from_buffer(object): shares memory with any buffer (NumPy arrays, array.array, memoryview).
PyObject* from_buffer(PyObject*, PyObject* o) {
  return guarded([&]() -> PyObject* {
    auto view = std::make_unique<Py_buffer>();
    if (PyObject_GetBuffer(o, view.get(), PyBUF_FULL_RO) < 0) throw PythonError{};
    struct Guard {
      Py_buffer* v;
      ~Guard() {
        if (v) PyBuffer_Release(v);
      }
    } guard{view.get()};
    DType t = dtype_of_format(view->format ? view->format : "B", view->itemsize);
    check<TypeError>(itemsize(t) == view->itemsize, "unsupported element size ", view->itemsize);
    Dims sizes, strides;
    int64_t step = 1;
    for (int i = 0; i < view->ndim; i++) {
      sizes.push_back(view->shape[i]);
      if (view->strides) {
        check<ValueError>(view->strides[i] >= 0 || view->shape[i] <= 1,
                          "At least one stride in the given numpy array is negative, and tensors "
                          "with negative strides are not "
                          "currently supported. (You can probably work around this by making a "
                          "copy of your array with array.copy().)");
        check<ValueError>(view->strides[i] % view->itemsize == 0,
                          "given numpy array strides not a multiple of the element byte size. Copy "
                          "the numpy array to reallocate the memory.");
        strides.push_back(std::max<int64_t>(view->strides[i] / view->itemsize, 0));
      }
    }
    if (!view->strides) strides = contiguous_strides(sizes);
    step = storage_extent(sizes, strides) * view->itemsize;
    auto deleter = [](void* context, void*, size_t) {
      WithGil gil;
      auto* v = static_cast<Py_buffer*>(context);
      PyBuffer_Release(v);
      delete v;
    };
    void* data = view->buf;
    guard.v = nullptr;
    auto storage = make_ref<Storage>(data, size_t(step), Device{}, deleter, view.release());
    return wrap(from_storage(storage, sizes, strides, 0, t));
  });
}

// ---- DLPack (the published ABI, version 0 and 1 headers)
// ----------------------------------------------

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
struct DLManaged {
  DLTensor tensor;
  void* context;
  void (*deleter)(DLManaged*);
};

DLDataType dlpack_type(DType t) {
  uint8_t bits = uint8_t(itemsize(t) * 8);
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

DType from_dlpack_type(DLDataType d) {
  check(d.lanes == 1, "from_dlpack: vector types (lanes ", d.lanes, ") are not supported");
  for (int i = 0; i < kAllDTypes; i++) {
    DLDataType own = dlpack_type(DType(i));
    if (own.code == d.code && own.bits == d.bits) return DType(i);
  }
  fail("from_dlpack: unsupported element type code ", int(d.code), " with ", int(d.bits), " bits");
}

void capsule_destructor(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, "dltensor")) return;  // consumed
  auto* m = static_cast<DLManaged*>(PyCapsule_GetPointer(capsule, "dltensor"));
  m->deleter(m);
}

PyObject* dlpack(PyObject* o, PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    const Tensor t = primal_of(as_tensor(o));
    need_cpu(t, "__dlpack__");
    if (t.requires_grad()) {
      PyErr_SetString(PyExc_BufferError,
                      "Can't export tensors that require gradient, use tensor.detach()");
      throw PythonError{};
    }
    struct Context {
      DLManaged managed;
      BufferShape shape;
    };
    auto* c = new Context{{}, BufferShape(t)};
    c->managed = {{t.bytes(),
                   {1, 0},
                   int32_t(t.dim()),
                   dlpack_type(t.dtype()),
                   c->shape.sizes.data(),
                   c->shape.strides.data(),
                   0},
                  c,
                  [](DLManaged* m) { delete static_cast<Context*>(m->context); }};
    return must(PyCapsule_New(&c->managed, "dltensor", capsule_destructor));
  });
}

PyObject* dlpack_device(PyObject*, PyObject*) { return Py_BuildValue("(ii)", 1, 0); }

PyObject* from_dlpack_capsule(PyObject*, PyObject* capsule) {
  return guarded([&]() -> PyObject* {
    check(PyCapsule_IsValid(capsule, "dltensor"),
          "from_dlpack received an invalid capsule. Note that DLTensor capsules can be "
          "consumed only once, so you might have already constructed a tensor from it once.");
    auto* m = static_cast<DLManaged*>(PyCapsule_GetPointer(capsule, "dltensor"));
    check(m->tensor.device.type == 1, "from_dlpack: device type ", m->tensor.device.type,
          " is not supported by this build (cpu is)");
    DType t = from_dlpack_type(m->tensor.dtype);
    Dims sizes{IntSpan(m->tensor.shape, size_t(m->tensor.ndim))};
    Dims strides = m->tensor.strides ? Dims{IntSpan(m->tensor.strides, size_t(m->tensor.ndim))}
                                     : contiguous_strides(sizes);
    for (auto s : strides) check(s >= 0, "from_dlpack: negative strides are not supported");
    auto deleter = [](void* context, void*, size_t) {
      WithGil gil;
      auto* managed = static_cast<DLManaged*>(context);
      if (managed->deleter) managed->deleter(managed);
    };
    char* data = static_cast<char*>(m->tensor.data) + m->tensor.byte_offset;
    auto storage = make_ref<Storage>(data, size_t(storage_extent(sizes, strides) * itemsize(t)),
                                     Device{}, deleter, m);
    must(PyCapsule_SetName(capsule, "used_dltensor"));
    return wrap(from_storage(storage, sizes, strides, 0, t));
  });
}

// ---- storages
// ---------------------------------------------------------------------------------------------

struct PyStorage {
  PyObject_HEAD Ref<Storage> storage;
};
PyTypeObject* storage_type = nullptr;

Storage& storage_of(PyObject* o) { return *reinterpret_cast<PyStorage*>(o)->storage; }

// UntypedStorage(size=0 | sequence of bytes, *, device=None)
PyObject* storage_new(PyTypeObject*, PyObject* args, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    PyObject *source = nullptr, *device = Py_None;
    static const char* names[] = {"", "device", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O$O:UntypedStorage",
                                     const_cast<char**>(names), &source, &device))
      return nullptr;
    const Device where = device == Py_None ? Device{} : as_device(device);
    if (!source || PyIndex_Check(source)) {
      const int64_t bytes = source ? as_int(source) : 0;
      check<ValueError>(bytes >= 0, "UntypedStorage: size must not be negative, got ", bytes);
      return wrap_storage(make_ref<Storage>(size_t(bytes), where));
    }
    check<TypeError>(PySequence_Check(source),
                     "UntypedStorage: expected a size or a sequence of bytes, got ",
                     Py_TYPE(source)->tp_name);
    check<TypeError>(where.type == DeviceType::CPU,
                     "UntypedStorage: values need the device cpu, got ", to_string(where));
    SequenceItems items(source);
    const int64_t count = items.size();
    auto storage = make_ref<Storage>(size_t(count), where);
    auto* out = static_cast<uint8_t*>(storage->data());
    for (int64_t i = 0; i < count; i++) {
      const Object item = items.at(i);
      check(PyIndex_Check(item.get()), "UntypedStorage: item ", i, " is a ",
            Py_TYPE(item.get())->tp_name, ", expected an int");
      const int64_t value = as_int(item.get());  // wraps, as the casts of C do
      out[i] = uint8_t(value);
    }
    return wrap_storage(storage);
  });
}
void storage_dealloc(PyObject* o) {
  reinterpret_cast<PyStorage*>(o)->storage.~Ref();
  PyTypeObject* type = Py_TYPE(o);
  type->tp_free(o);
  Py_DECREF(type);
}
// The memory must not move while the buffer is out.
int storage_getbuffer(PyObject* o, Py_buffer* view, int flags) {
  Storage& s = storage_of(o);
  static char none;
  const int status = PyBuffer_FillInfo(view, o, s.data() ? s.data() : &none,
                                       Py_ssize_t(s.data() ? s.bytes() : 0), 0, flags);
  if (status == 0) s.pin();
  return status;
}
void storage_releasebuffer(PyObject* o, Py_buffer*) { storage_of(o).unpin(); }
PyObject* storage_resizable(PyObject* o, PyObject*) {
  return PyBool_FromLong(storage_of(o).resizable());
}
Py_ssize_t storage_length(PyObject* o) { return Py_ssize_t(storage_of(o).bytes()); }
PyObject* storage_nbytes(PyObject* o, PyObject*) {
  return PyLong_FromSize_t(storage_of(o).bytes());
}
PyObject* storage_data_ptr(PyObject* o, PyObject*) {
  return PyLong_FromVoidPtr(storage_of(o).data());
}
PyObject* storage_device(PyObject* o, void*) { return wrap(storage_of(o).device()); }
PyObject* storage_key(PyObject* o, void*) { return PyLong_FromVoidPtr(&storage_of(o)); }
PyObject* storage_resize(PyObject* o, PyObject* n) {
  return guarded([&]() -> PyObject* {
    storage_of(o).resize(size_t(as_int(n)));
    return incref(o);
  });
}
PyMethodDef storage_methods[] = {{"resizable", storage_resizable, METH_NOARGS, nullptr},
                                 {"nbytes", storage_nbytes, METH_NOARGS, nullptr},
                                 {"size", storage_nbytes, METH_NOARGS, nullptr},
                                 {"data_ptr", storage_data_ptr, METH_NOARGS, nullptr},
                                 {"resize_", storage_resize, METH_O, nullptr},
                                 {"is_shared", storage_is_shared, METH_NOARGS, nullptr},
                                 {"share_memory_", storage_share, METH_NOARGS, nullptr},
                                 {"_shared_block", storage_shared_block, METH_NOARGS, nullptr},
                                 {}};
PyGetSetDef storage_getset[] = {
    {"device", storage_device, nullptr, nullptr, nullptr},
    {"_cdata", storage_key, nullptr, "identity of the storage", nullptr},
    {}};

PyObject* untyped_storage(PyObject* o, PyObject*) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = as_tensor(o);
    check<NotImplementedError>(!is_sparse(t),
                               "Cannot access storage of SparseTensorImpl: a sparse tensor has "
                               "indices and values, each with a storage of its own");
    check<NotImplementedError>(!is_transform(t),
                               "Cannot access storage of a tensor of a function transform (vmap, "
                               "grad, jvp): it stands for others");
    return wrap_storage(t.storage());
  });
}

// _tensor_from_storage(storage, dtype, offset, sizes, strides)
PyObject* tensor_from_storage(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *storage, *dtype, *sizes, *strides;
    long long offset;
    if (!PyArg_ParseTuple(args, "O!OLO!O!", storage_type, &storage, &dtype, &offset, &PyTuple_Type,
                          &sizes, &PyTuple_Type, &strides))
      return nullptr;
    Dims s = as_dims(sizes, 0), st = as_dims(strides, 0);
    DType t = as_dtype(dtype);
    check(s.size() == st.size() && offset >= 0,
          "_tensor_from_storage: sizes and strides differ in length, or offset < 0");
    for (size_t i = 0; i < s.size(); i++)
      check(s[i] >= 0 && st[i] >= 0, "_tensor_from_storage: negative size or stride");
    const int64_t end = storage_bytes(s, st, offset, itemsize(t));
    check(end <= int64_t(storage_of(storage).bytes()), "setStorage: sizes ", s, ", strides ", st,
          ", storage offset ", offset, ", requiring a storage size of ", end,
          " are out of bounds for storage of size ", storage_of(storage).bytes());
    return wrap(from_storage(reinterpret_cast<PyStorage*>(storage)->storage, s, st, offset, t));
  });
}

// Tensor._set(source): this tensor shows what `source` shows from now on (set_, copy-on-load).
PyObject* make_subclass(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *type, *data;
    int requires_grad = 0;
    if (!PyArg_ParseTuple(args, "O!O|p", &PyType_Type, &type, &data, &requires_grad))
      return nullptr;
    check<TypeError>(PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), tensor_type),
                     "cls must be a subclass of Tensor");
    check<TypeError>(is_tensor(data), "_make_subclass: data must be a Tensor, got ",
                     Py_TYPE(data)->tp_name);
    Tensor t = ops::detach(as_tensor(data));
    PyObject* o = wrap_as(t, reinterpret_cast<PyTypeObject*>(type));
    if (requires_grad) set_requires_grad(t, true);
    return o;
  });
}

PyMethodDef module_functions[] = {
    {"_from_sequence", from_sequence, METH_VARARGS, nullptr},
    {"_from_buffer", from_buffer, METH_O, nullptr},
    {"_from_dlpack", from_dlpack_capsule, METH_O, nullptr},
    {"_tensor_from_storage", tensor_from_storage, METH_VARARGS, nullptr},
    {"_make_subclass", make_subclass, METH_VARARGS, nullptr},
    {}};

}  // namespace

PyMethodDef interop_methods[] = {
    {"tolist", tolist, METH_NOARGS, "The elements as nested Python lists (a number when 0-d)."},
    {"__dlpack__", reinterpret_cast<PyCFunction>(dlpack), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"__dlpack_device__", dlpack_device, METH_NOARGS, nullptr},
    {"untyped_storage", untyped_storage, METH_NOARGS, nullptr},
    {}};

PyObject* wrap_storage(const Ref<Storage>& s) {
  PyObject* o = must(storage_type->tp_alloc(storage_type, 0));
  new (&reinterpret_cast<PyStorage*>(o)->storage) Ref<Storage>(s);
  return o;
}

const Ref<Storage>& storage_ref(PyObject* o) { return reinterpret_cast<PyStorage*>(o)->storage; }

void add_interop(PyObject* module) {
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(storage_new)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(storage_dealloc)},
                         {Py_tp_methods, storage_methods},
                         {Py_tp_getset, storage_getset},
                         {Py_mp_length, reinterpret_cast<void*>(storage_length)},
                         {Py_bf_getbuffer, reinterpret_cast<void*>(storage_getbuffer)},
                         {Py_bf_releasebuffer, reinterpret_cast<void*>(storage_releasebuffer)},
                         {0, nullptr}};
  PyType_Spec spec{"torch.UntypedStorage", sizeof(PyStorage), 0, Py_TPFLAGS_DEFAULT, slots};
  storage_type = reinterpret_cast<PyTypeObject*>(must(PyType_FromSpec(&spec)));
  must(PyModule_AddObjectRef(module, "UntypedStorage", reinterpret_cast<PyObject*>(storage_type)));
  must(PyModule_AddFunctions(module, module_functions));
}

}  // namespace flambeau::bind
