#include "bind/interop.h"

#include <cstring>
#include <memory>

#include "autograd/node.h"
#include "bind/convert.h"
#include "bind/override.h"
#include "bind/shared.h"
#include "bind/tensor_type.h"
#include "core/transform.h"
#include "dispatch/promotion.h"
#include "kernels/number.h"
#include "kernels/pointwise.h"
#include "ops/all.h"

namespace flambeau::bind {

Tensor primal_of(Tensor t) {
  while (is_transform(t) && record_of(t).kind == TransformKind::Dual) t = record_of(t).value;
  return t;
}

namespace {

void need_cpu(const Tensor& t, const char* what) {
  check<NotImplementedError>(!t.is_meta(), "Cannot copy out of meta tensor; no data! (", what, ")");
  check<TypeError>(!is_sparse(t), what,
                   ": can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.");
  check(!is_transform(t), what,
        ": Cannot access data pointer of Tensor that doesn't have storage: ",
        "it is inside a function transform (vmap, grad, jvp)");
}

// ---- lists and numbers
// ------------------------------------------------------------------------------

template <class T>
PyObject* element(const T& v) {
  if constexpr (std::is_same_v<T, bool>)
    return PyBool_FromLong(v);
  else if constexpr (std::is_same_v<T, uint64_t>)
    return PyLong_FromUnsignedLongLong(v);
  else if constexpr (std::is_integral_v<T>)
    return PyLong_FromLongLong(v);
  else if constexpr (std::is_same_v<T, complex64_t> || std::is_same_v<T, complex128_t>)
    return PyComplex_FromDoubles(v.real(), v.imag());
  else
    return PyFloat_FromDouble(double(v));
}

// Memory of others may not be aligned, and may have other bytes than 0 and 1 for bools.
template <class T>
PyObject* element_at(const T* p) {
  std::conditional_t<std::is_same_v<T, bool>, uint8_t, T> v;
  std::memcpy(&v, static_cast<const void*>(p), sizeof v);
  if constexpr (std::is_same_v<T, bool>)
    return must(element(v != 0));
  else
    return must(element(v));
}

template <class T>
PyObject* to_list(const Tensor& t, const T* p, int64_t dim) {
  if (dim == t.dim()) return element_at(p);
  const int64_t n = t.sizes()[size_t(dim)], step = t.strides()[size_t(dim)];
  Object list(must(PyList_New(n)));
  const bool last = dim + 1 == t.dim();
  for (int64_t i = 0; i < n; i++)
    PyList_SET_ITEM(list.get(), i,
                    last ? element_at(p + i * step) : to_list(t, p + i * step, dim + 1));
  return list.release();
}

PyObject* tolist(PyObject* o, PyObject*) {
  return guarded([&]() -> PyObject* {
    if (asks_override(o)) [[unlikely]]
      return must(override_method(o, "tolist"));
    const Tensor t = readable(as_tensor(o), "tolist");
    need_cpu(t, "tolist");
    if (t.dtype() == DType::UInt64) return to_list(t, t.data<uint64_t>(), 0);
    if (is_storage_only(t.dtype())) {
      const Tensor number = cast_of(t, info(t.dtype()).compute);
      return visit(number.dtype(), [&](auto tag) {
        using T = typename decltype(tag)::type;
        return to_list(number, number.data<T>(), 0);
      });
    }
    return visit(t.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      return to_list(t, t.data<T>(), 0);
    });
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
  static PyTypeObject* types[std::size(names)];  // NumPy's, once seen: they are never deleted
  PyTypeObject* type = Py_TYPE(o);
  for (size_t i = 0; i < std::size(names); i++)
    if (types[i] == type) return names[i].second;
  if (std::strncmp(type->tp_name, "numpy.", 6) != 0) return std::nullopt;
  for (size_t i = 0; i < std::size(names); i++)
    if (std::strcmp(type->tp_name + 6, names[i].first) == 0) {
      if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) types[i] = type;
      return names[i].second;
    }
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
    if (PyUnicode_Check(o) || PyBytes_Check(o)) {
      check<ValueError>(depth == 0 || PyBytes_Check(o), "too many dimensions '",
                        Py_TYPE(o)->tp_name, "' (a text inside the sequence)");
      fail<TypeError>("new(): invalid data type '", Py_TYPE(o)->tp_name, "'");
    }
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
      else if (i > 0 && !scalar && (PyList_Check(item.get()) || PyTuple_Check(item.get())))
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
      return sizeof(long) == 8 ? "l" : "q";  // NumPy's int64 where both would do
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

}  // namespace

int tensor_getbuffer(PyObject* o, Py_buffer* view, int flags) {
  return guarded_status([&] {
    view->obj = nullptr;
    if (asks_override(o)) [[unlikely]] {  // consumers with another way (__array__) take that
      PyErr_SetString(PyExc_BufferError,
                      "a subclass of Tensor with __torch_function__ has no buffer; use numpy()");
      throw PythonError{};
    }
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

// ---- NumPy's arrays, by the protocol __array_struct__
// -----------------------------------------------

struct ArrayStruct {
  int two;
  int nd;
  char kind;
  int itemsize;
  int flags;
  Py_ssize_t* shape;
  Py_ssize_t* strides;
  void* data;
  PyObject* descr;
};
enum ArrayFlags { kNative = 0x200, kWriteable = 0x400 };

// The letter that NumPy has for such elements; 0 where it has none.
char array_kind(DType t) {
  if (t == DType::BFloat16 || t >= DType::Complex32) return 0;
  switch (category(t)) {
    case Category::Bool:
      return 'b';
    case Category::Complex:
      return 'c';
    case Category::Floating:
      return 'f';
    default:
      return is_unsigned(t) ? 'u' : 'i';
  }
}

std::optional<DType> array_dtype(const ArrayStruct& a) {
  for (int i = 0; i < kAllDTypes; i++)
    if (itemsize(DType(i)) == a.itemsize && array_kind(DType(i)) == a.kind) return DType(i);
  return std::nullopt;
}

std::string array_type_name(PyObject* array) {
  Object dtype(must(PyObject_GetAttrString(array, "dtype")));
  Object type(must(PyObject_GetAttrString(dtype.get(), "type")));
  Object name(must(PyObject_GetAttrString(type.get(), "__name__")));
  return as_str(name.get());
}

// _from_array(array, copied): a tensor on the memory of a NumPy array or scalar. One that cannot be
// written to is copied, with a warning, unless the caller copies anyway.
PyObject* from_array(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    check<TypeError>(n == 2, "_from_array: expected two arguments");
    static PyObject* attribute = PyUnicode_InternFromString("__array_struct__");
    Object capsule(must(PyObject_GetAttr(args[0], attribute)));
    const auto* a = static_cast<ArrayStruct*>(PyCapsule_GetPointer(capsule.get(), nullptr));
    if (!a) throw PythonError{};
    check<TypeError>(a->two == 2, "__array_struct__ of this object has another layout");
    const auto t = array_dtype(*a);
    if (!t)
      fail<TypeError>("can't convert np.ndarray of type numpy.", array_type_name(args[0]),
                      ". The only supported types are: float64, float32, float16, complex64, "
                      "complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, "
                      "and bool.");
    Dims sizes, strides;
    for (int i = 0; i < a->nd; i++) {
      const Py_ssize_t step = a->strides[i];
      check<ValueError>(step >= 0,
                        "At least one stride in the given numpy array is negative, and tensors "
                        "with negative strides are not currently supported. (You can probably work "
                        "around this by making a copy of your array with array.copy().)");
      check<ValueError>(step % a->itemsize == 0,
                        "given numpy array strides not a multiple of the element byte size. Copy "
                        "the numpy array to reallocate the memory.");
      sizes.push_back(a->shape[i]);
      strides.push_back(step / a->itemsize);
    }
    check<ValueError>(a->itemsize == 1 || (a->flags & kNative),
                      "given numpy array has byte order different from the native byte order. "
                      "Conversion between byte orders is currently not supported. Use "
                      "array.astype(array.dtype.newbyteorder('=')).");
    auto release = [](void* context, void*, size_t) {
      WithGil gil;
      Py_DECREF(static_cast<PyObject*>(context));
    };
    const bool readonly = !(a->flags & kWriteable) && args[1] != Py_True;
    if (readonly)
      must(PyErr_WarnEx(PyExc_UserWarning,
                        "The given NumPy array is not writable, and PyTorch does not support "
                        "non-writable tensors: writing to the tensor would write to the array. "
                        "The tensor has a copy instead.",
                        1));
    const int64_t bytes = storage_extent(sizes, strides) * a->itemsize;
    void* data = a->data;
    // the capsule holds the array
    auto storage = make_ref<Storage>(data, size_t(bytes), Device{}, release, capsule.release());
    Tensor out = from_storage(storage, sizes, strides, 0, *t);
    return wrap(readonly ? ops::clone(out) : out);
  });
}

// What np.asarray makes an array of: a buffer with strides, which keeps the memory.
struct ArrayExport {
  PyObject_HEAD BufferShape* shape;
  void* data;
  const char* format;
  Py_ssize_t itemsize, bytes;
};
PyTypeObject* export_type = nullptr;

void export_dealloc(PyObject* o) {
  delete reinterpret_cast<ArrayExport*>(o)->shape;
  PyTypeObject* type = Py_TYPE(o);
  type->tp_free(o);
  Py_DECREF(type);
}
int export_getbuffer(PyObject* o, Py_buffer* view, int) {
  auto* e = reinterpret_cast<ArrayExport*>(o);
  static char none;  // an empty tensor need not have memory
  *view = {};
  view->buf = e->data ? e->data : &none;
  view->len = e->bytes;
  view->itemsize = e->itemsize;
  view->ndim = int(e->shape->sizes.size());
  view->format = const_cast<char*>(e->format);
  view->shape = reinterpret_cast<Py_ssize_t*>(e->shape->sizes.data());
  view->strides = reinterpret_cast<Py_ssize_t*>(e->shape->strides.data());
  view->obj = incref(o);
  return 0;
}

// _array_export(tensor): for Tensor.numpy
PyObject* array_export(PyObject*, PyObject* o) {
  return guarded([&]() -> PyObject* {
    check<TypeError>(is_tensor(o), "numpy: expected a Tensor, got ", Py_TYPE(o)->tp_name);
    const Tensor t = primal_of(as_tensor(o));
    check(!t.requires_grad() || thread_state.grad_mode != kGradOn,
          "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.");
    check<TypeError>(array_kind(t.dtype()) != 0, "Got unsupported ScalarType ",
                     info(t.dtype()).scalar_type,
                     ": NumPy has no such type; convert to another one first");
    check<TypeError>(!t.is_meta(),
                     "can't convert meta device type tensor to numpy: it has no data");
    need_cpu(t, "numpy");
    PyObject* self = must(export_type->tp_alloc(export_type, 0));
    auto* e = reinterpret_cast<ArrayExport*>(self);
    e->shape = new BufferShape(t);
    for (auto& s : e->shape->strides) s *= t.itemsize();
    e->data = t.bytes();
    e->format = format_of(t.dtype());
    e->itemsize = t.itemsize();
    e->bytes = t.numel() * t.itemsize();
    return self;
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
PyMethodDef storage_methods[] = {{"nbytes", storage_nbytes, METH_NOARGS, nullptr},
                                 {"size", storage_nbytes, METH_NOARGS, nullptr},
                                 {"data_ptr", storage_data_ptr, METH_NOARGS, nullptr},
                                 {"resize_", storage_resize, METH_O, nullptr},
                                 {"resizable", storage_resizable, METH_NOARGS, nullptr},
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
    if (asks_override(o)) [[unlikely]]
      return must(override_method(o, "untyped_storage"));
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

// _as_subclass(type, tensor): the same memory and history as an instance of the type.
PyObject* as_subclass(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *type, *data;
    if (!PyArg_ParseTuple(args, "OO", &type, &data)) return nullptr;
    check<TypeError>(is_tensor(data), "as_subclass: expected a Tensor, got ",
                     Py_TYPE(data)->tp_name);
    check<TypeError>(
        PyType_Check(type) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), tensor_type),
        "as_subclass: cls must be a subclass of Tensor");
    return wrap_as(ops::alias(as_tensor(data)), reinterpret_cast<PyTypeObject*>(type));
  });
}

PyMethodDef module_functions[] = {
    {"_as_subclass", as_subclass, METH_VARARGS, nullptr},
    {"_from_sequence", from_sequence, METH_VARARGS, nullptr},
    {"_from_buffer", from_buffer, METH_O, nullptr},
    {"_from_array", reinterpret_cast<PyCFunction>(from_array), METH_FASTCALL, nullptr},
    {"_array_export", array_export, METH_O, nullptr},
    {"_tensor_from_storage", tensor_from_storage, METH_VARARGS, nullptr},
    {"_make_subclass", make_subclass, METH_VARARGS, nullptr},
    {}};

}  // namespace

PyMethodDef interop_methods[] = {
    {"tolist", tolist, METH_NOARGS, "The elements as nested Python lists (a number when 0-d)."},
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
  PyType_Slot export_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(export_dealloc)},
                                {Py_bf_getbuffer, reinterpret_cast<void*>(export_getbuffer)},
                                {0, nullptr}};
  PyType_Spec export_spec{"flambeau._C._ArrayExport", sizeof(ArrayExport), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, export_slots};
  export_type = reinterpret_cast<PyTypeObject*>(must(PyType_FromSpec(&export_spec)));
  must(PyModule_AddFunctions(module, module_functions));
  add_dlpack(module);
}

}  // namespace flambeau::bind
