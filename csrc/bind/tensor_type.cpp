#include "bind/tensor_type.h"

#include <structmember.h>

#include <cstring>
#include <unordered_map>

#include "autograd/node.h"
#include "bind/autograd_type.h"
#include "bind/collector.h"
#include "bind/generated.h"
#include "bind/indexing.h"
#include "bind/interop.h"
#include "bind/override.h"
#include "core/transform.h"

namespace flambeau::bind {

PyTypeObject* tensor_type = nullptr;
PyTypeObject* parameter_type = nullptr;

namespace {

// ---- object lifetime
// -------------------------------------------------------------------------------- A Python object
// holds its TensorImpl. When the last Python reference goes while C++ still holds the impl (a saved
// tensor, a `.grad`) and the object carries state (attributes, weak references, a subclass), the
// roles swap: the impl then owns the object, so that it comes back unchanged.

constexpr int kFreeListSize = 64;
PyTensor* free_list[kFreeListSize];
int free_count = 0;

PyTensor* of(PyObject* o) { return reinterpret_cast<PyTensor*>(o); }

void release_object(void* object) {
  WithGil gil;
  auto* self = of(static_cast<PyObject*>(object));
  new (&self->tensor) Tensor();  // the impl is going: forget it without counting down
  Py_DECREF(self);
}

bool carries_state(PyTensor* self) {
  return (self->dict && PyDict_GET_SIZE(self->dict) > 0) || self->weakrefs ||
         Py_TYPE(self) != tensor_type;
}

void tensor_dealloc(PyObject* o) {
  PyTensor* self = of(o);
  TensorImpl* impl = self->tensor.impl();
  if (impl && impl->use_count() > 1 && carries_state(self)) {
    Py_SET_REFCNT(o, 1);
    impl->owns_pyobject = true;
    impl->release();  // our reference; the impl now holds us
    if (!PyObject_GC_IsTracked(o)) PyObject_GC_Track(o);
    return;
  }
  PyObject_GC_UnTrack(o);
  collector::leave(self);
  if (self->weakrefs) PyObject_ClearWeakRefs(o);
  Py_CLEAR(self->dict);
  if (impl) impl->pyobject = nullptr;
  self->tensor.~Tensor();
  PyTypeObject* type = Py_TYPE(o);
  if (type == tensor_type && free_count < kFreeListSize) {
    free_list[free_count++] = self;
    return;
  }
  type->tp_free(o);
  Py_DECREF(type);
}

int tensor_traverse(PyObject* o, visitproc visit, void* arg) {
  PyTensor* self = of(o);
  Py_VISIT(Py_TYPE(o));
  Py_VISIT(self->dict);
  return collector::active ? collector::traverse(self->tensor.impl(), visit, arg) : 0;
}

int tensor_clear(PyObject* o) {
  PyTensor* self = of(o);
  Tensor t = self->tensor;
  const bool garbage = collector::is_garbage(t.impl());
  Py_CLEAR(self->dict);
  if (garbage) collector::clear_record(t);
  return 0;
}

PyObject* allocate_object(PyTypeObject* type) {
  if (type == tensor_type && free_count) {
    PyTensor* self = free_list[--free_count];
    _Py_NewReference(reinterpret_cast<PyObject*>(self));
    self->dict = self->weakrefs = nullptr;
    PyObject_GC_Track(self);
    return reinterpret_cast<PyObject*>(self);
  }
  return must(type->tp_alloc(type, 0));
}

PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    // Tensor(2, 3), Tensor([1., 2.]), Tensor(tensor): the legacy constructor, implemented in Python
    static PyObject* legacy = nullptr;
    if (!legacy) {
      Object m(must(PyImport_ImportModule("flambeau._tensor")));
      legacy = must(PyObject_GetAttrString(m.get(), "_legacy_new"));
    }
    Object with_type(must(PyTuple_New(PyTuple_GET_SIZE(args) + 1)));
    PyTuple_SET_ITEM(with_type.get(), 0, incref(reinterpret_cast<PyObject*>(type)));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++)
      PyTuple_SET_ITEM(with_type.get(), i + 1, incref(PyTuple_GET_ITEM(args, i)));
    return must(PyObject_Call(legacy, with_type.get(), kwargs));
  });
}

// ---- attributes
// ---------------------------------------------------------------------------------------

const Tensor& self_of(PyObject* o) {
  const Tensor& t = of(o)->tensor;
  check(t.defined(), "this tensor object has no data any more");
  return t;
}

// A getter; the closure is the attribute's name.
template <auto F>
PyObject* get(PyObject* o, void* name) {
  return guarded([&]() -> PyObject* {
    if (name && asks_override(o)) [[unlikely]]
      return must(override_attribute(o, static_cast<const char*>(name), "__get__", nullptr));
    return F(self_of(o));
  });
}
template <auto F>
int set(PyObject* o, PyObject* v, void* name) {
  return guarded_status([&] {
    if (asks_override(o)) [[unlikely]] {
      const char* attribute = static_cast<const char*>(name);
      Object done(must(override_attribute(o, attribute, v ? "__set__" : "__delete__", v)));
      return;
    }
    F(self_of(o), v);
  });
}

uint32_t tracked_version(const Tensor& t) {
  check(!t->inference, "Inference tensors do not track version counter.");
  return t.version();
}

#define GET(NAME, EXPRESSION)                                                                   \
  PyGetSetDef {                                                                                 \
    NAME, get<[](const Tensor& t) -> PyObject* { return wrap(EXPRESSION); }>, nullptr, nullptr, \
        const_cast<char*>(NAME)                                                                 \
  }

void set_requires_grad_attr(const Tensor& t, PyObject* v) {
  check<TypeError>(v && PyBool_Check(v), "requires_grad must be a bool");
  set_requires_grad(t, v == Py_True);
}

PyObject* grad_of(const Tensor& t) {
  auto* m = meta_if(t);
  if (!m) Py_RETURN_NONE;
  if (m->grad_fn && !m->grad.defined() && !m->retains_grad) [[unlikely]]
    must(
        PyErr_WarnEx(PyExc_UserWarning,
                     "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. "
                     "Its .grad attribute won't be populated during autograd.backward(). Use "
                     ".retain_grad() on it before if you want that, or access the leaf instead.",
                     1));
  return wrap(m->grad);
}

void set_grad_attr(const Tensor& t, PyObject* v) {
  if (!v || v == Py_None) {
    if (auto* m = meta_if(t)) m->grad = Tensor();
    return;
  }
  check<TypeError>(is_tensor(v),
                   "assigned grad expected to be a Tensor or None but got grad of type ",
                   Py_TYPE(v)->tp_name);
  const Tensor& g = as_tensor(v);
  check(!g.is_same(t), "can't assign Variable as its own grad");
  const char* fix = "; the gradient and the tensor must agree";
  check(g.dtype() == t.dtype(), "attempting to assign a gradient with dtype '", g.dtype(),
        "' to a tensor with grad_dtype '", t.dtype(), "'", fix);
  check(visible_device(g.device()) == visible_device(t.device()),
        "attempting to assign a gradient with device type '", g.device(),
        "' to a tensor with device type '", t.device(), "'", fix);
  check(equal(g.sizes(), t.sizes()), "attempting to assign a gradient of size '", g.sizes(),
        "' to a tensor of size '", t.sizes(), "'", fix);
  meta_of(t).grad = g;
  if (g->requires_grad) note_possible_cycle(t);
}

void set_data_attr(const Tensor& t, PyObject* v) {
  check<TypeError>(v && is_tensor(v), "Variable data has to be a tensor");
  const Tensor& source = as_tensor(v);
  check(!is_transform(t) && !is_transform(source),
        "mutating directly with `.data` inside a function transform (vmap, grad, jvp) is not "
        "allowed: use copy_(), or a new tensor");
  set_data(t, source);
}

template <bool kImag>
void set_part(const Tensor& t, PyObject* v) {
  check<TypeError>(v != nullptr, "can't delete the ", kImag ? "imag" : "real",
                   " attribute of a tensor");
  Tensor part = kImag ? ops::imag(t) : ops::real(t);
  if (v && is_tensor(v))
    ops::copy_(part, as_tensor(v), false);
  else
    ops::fill_(part, Operand(as_scalar(v)));
}

// An attribute that can be set.
template <auto Get, auto Set>
PyGetSetDef variable(const char* name) {
  return {name, get<Get>, set<Set>, nullptr, const_cast<char*>(name)};
}

PyGetSetDef tensor_getset[] = {
    GET("shape", t.sizes()),
    GET("dtype", t.dtype()),
    GET("device", visible_device(t.device())),
    GET("ndim", t.dim()),
    GET("itemsize", t.itemsize()),
    GET("nbytes", t.numel() * t.itemsize()),
    GET("is_leaf", is_leaf(t)),
    GET("is_cpu", visible_device(t.device()).type == DeviceType::CPU),
    GET("is_cuda", t.device().type == DeviceType::CUDA),
    GET("is_meta", visible_device(t.device()).type == DeviceType::Meta),
    GET("is_sparse", is_sparse(t) && sparse_layout(t) == SparseLayout::Coo),
    GET("is_sparse_csr", is_sparse(t) && sparse_layout(t) == SparseLayout::Csr),
    {"layout", get<[](const Tensor& t) -> PyObject* { return wrap_layout(t); }>, nullptr, nullptr,
     const_cast<char*>("layout")},
    GET("is_quantized", false),
    GET("is_mkldnn", false),
    GET("is_mps", false),
    GET("is_xpu", false),
    GET("is_xla", false),
    GET("is_nested", false),
    GET("_version", int64_t(tracked_version(t))),
    GET("output_nr", int64_t(meta_if(t) ? meta_if(t)->output_nr : 0)),
    GET("retains_grad", bool(meta_if(t) && meta_if(t)->retains_grad)),
    GET("_base", (meta_if(t) && meta_if(t)->view ? meta_if(t)->view->base : Tensor())),
    GET("T", ops::numpy_T(t)),
    GET("mT", ops::mT(t)),
    GET("H", ops::matrix_H(t)),
    GET("mH", ops::mH(t)),
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    GET("is_ipu", false),
    GET("is_maia", false),
    GET("is_mtia", false),
    GET("is_vulkan", false),
    {"grad_fn", get<[](const Tensor& t) -> PyObject* { return wrap_node(grad_fn(t)); }>, nullptr,
     nullptr, const_cast<char*>("grad_fn")},
    variable<[](const Tensor& t) -> PyObject* { return wrap(wants_grad(t)); },
             set_requires_grad_attr>("requires_grad"),
    variable<grad_of, set_grad_attr>("grad"),
    variable<[](const Tensor& t) -> PyObject* {
      return wrap(is_transform(t) ? ops::detach(t) : data_alias(t));
    },
             set_data_attr>("data"),
    variable<[](const Tensor& t) -> PyObject* { return wrap(ops::real(t)); }, set_part<false>>(
        "real"),
    variable<[](const Tensor& t) -> PyObject* { return wrap(ops::imag(t)); }, set_part<true>>(
        "imag"),
    {}};
#undef GET

// ---- operators
// -----------------------------------------------------------------------------------------

enum Symbol {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorDiv,
  kMod,
  kPow,
  kMatmul,
  kAnd,
  kOr,
  kXor,
  kLshift,
  kRshift,
  kLt,
  kLe,
  kEq,
  kNe,
  kGt,
  kGe,
  kNeg,
  kAbs,
  kInvert,
  kSymbols
};
const char* const kSymbolText[kSymbols] = {
    "+",  "-",  "*", "/",  "//", "%",  "**", "@",  "&",   "|",   "^",
    "<<", ">>", "<", "<=", "==", "!=", ">",  ">=", "neg", "abs", "invert"};
FastCall forward_call[kSymbols], reflected_call[kSymbols], inplace_call[kSymbols];

bool is_array(PyObject* o) { return std::strcmp(Py_TYPE(o)->tp_name, "numpy.ndarray") == 0; }

// A TypeError about a foreign operand lets Python ask the other side.
PyObject* or_not_implemented(PyObject* result, PyObject* other) {
  if (!result && PyErr_ExceptionMatches(PyExc_TypeError) && !is_tensor(other) &&
      !is_number(other)) {
    PyErr_Clear();
    Py_RETURN_NOTIMPLEMENTED;
  }
  return result;
}

// The methods that PyTorch names to overrides of `a + b`, `b + a` and `a += b`.
const char* const kForwardName[kSymbols] = {
    "add",     "sub",    "mul",     "div",        "__floordiv__", "remainder", "__pow__", "matmul",
    "__and__", "__or__", "__xor__", "__lshift__", "__rshift__",   "lt",        "le",      "__eq__",
    "ne",      "gt",     "ge",      "neg",        "abs",          "__invert__"};
const char* const kReflectedName[] = {
    "add",         "__rsub__", "mul",     "__rtruediv__", "__rfloordiv__", "__rmod__",   "__rpow__",
    "__rmatmul__", "__rand__", "__ror__", "__rxor__",     "__rlshift__",   "__rrshift__"};
const char* const kInPlaceName[] = {
    "add_",        "sub_",     "mul_",    "div_",     "__ifloordiv__", "remainder_", "__ipow__",
    "__imatmul__", "__iand__", "__ior__", "__ixor__", "__ilshift__",   "__irshift__"};

// An override's TypeError lets Python ask the other side.
PyObject* overridden(const char* name, PyObject* self, PyObject* other) {
  PyObject* result = guarded([&] { return override_operator(name, self, other); });
  if (!result && other && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();
    Py_RETURN_NOTIMPLEMENTED;
  }
  return result;
}

template <int K>
PyObject* binary(PyObject* a, PyObject* b) {
  if (is_tensor(a)) {
    if (asks_override(a) || asks_override(b)) [[unlikely]]
      return overridden(kForwardName[K], a, b);
    PyObject* args[] = {b};
    return or_not_implemented(forward_call[K](a, args, 1, nullptr), b);
  }
  if (asks_override(b) || asks_override(a)) [[unlikely]]
    return overridden(kReflectedName[K], b, a);
  if (!reflected_call[K]) Py_RETURN_NOTIMPLEMENTED;
  if (K == kDiv && is_array(a)) {  // the one operator with an array on its left that PyTorch has
    Object inverse(guarded([&] { return wrap(ops::reciprocal(as_tensor(b))); }));
    return inverse ? PyNumber_Multiply(inverse.get(), a) : nullptr;
  }
  PyObject* args[] = {a};
  return or_not_implemented(reflected_call[K](b, args, 1, nullptr), a);
}

template <int K>
PyObject* in_place(PyObject* a, PyObject* b) {
  if (asks_override(a) || asks_override(b)) [[unlikely]]
    return overridden(kInPlaceName[K], a, b);
  if (!inplace_call[K]) return binary<K>(a, b);
  PyObject* args[] = {b};
  return or_not_implemented(inplace_call[K](a, args, 1, nullptr), b);
}

template <int K>
PyObject* unary(PyObject* a) {
  if (asks_override(a)) [[unlikely]]
    return overridden(kForwardName[K], a, nullptr);
  if (K == kInvert && category(as_tensor(a).dtype()) >= Category::Floating) {
    PyErr_SetString(PyExc_TypeError,
                    "~ (operator.invert) is only implemented on integer and Boolean-type tensors");
    return nullptr;
  }
  return forward_call[K](a, nullptr, 0, nullptr);
}

PyObject* power(PyObject* a, PyObject* b, PyObject* modulo) {
  if (modulo != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary<kPow>(a, b);
}
PyObject* power_in_place(PyObject* a, PyObject* b, PyObject* modulo) {
  if (modulo != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return in_place<kPow>(a, b);
}
PyObject* positive(PyObject* a) {
  return asks_override(a) ? overridden("positive", a, nullptr) : incref(a);
}

PyObject* compare(PyObject* a, PyObject* b, int op) {
  static const int symbol[] = {kLt, kLe, kEq, kNe, kGt, kGe};
  if (asks_override(a) || asks_override(b)) [[unlikely]]
    return overridden(kForwardName[symbol[op]], a, b);
  // NumPy would compare the tensor as one object
  Object array;
  if ((op == Py_EQ || op == Py_NE) && is_array(b)) {
    array = Object(guarded([&] { return wrap(tensor_from_sequence(b)); }));
    if (!array) return or_not_implemented(nullptr, b);  // no dtype for these elements
    b = array.get();
  }
  PyObject* args[] = {b};
  return or_not_implemented(forward_call[symbol[op]](a, args, 1, nullptr), b);
}

// A number of a conversion that an override may answer.
#define ASK(NAME)                    \
  if (asks_override(o)) [[unlikely]] \
  return must(override_method(o, NAME))

int truth(PyObject* o) {
  int value = -1;
  guarded_status([&] {
    if (asks_override(o)) [[unlikely]] {
      Object answer(must(override_method(o, "__bool__")));
      value = PyObject_IsTrue(answer.get());
      must(value);
      return;
    }
    const Tensor& t = self_of(o);
    check(t.numel() != 0, "Boolean value of Tensor with no values is ambiguous");
    check(t.numel() == 1, "Boolean value of Tensor with more than one value is ambiguous");
    check(!is_transform(t) || has_values(t) || is_sparse(t),
          "vmap: It looks like you're attempting to use a Tensor in some data-dependent control "
          "flow. A batch has no single truth value: use torch.where, or take the decision out of "
          "vmap.");
    value = ops::item(t).to_bool();
  });
  return value;
}

Scalar number_of(PyObject* o) {
  const Tensor& t = self_of(o);
  check<ValueError>(t.numel() == 1,
                    "only one element tensors can be converted to Python scalars, got ", t.numel(),
                    " elements");
  return ops::item(t);
}
PyObject* to_float(PyObject* o) {
  return guarded([&]() -> PyObject* {
    ASK("__float__");
    Scalar s = number_of(o);
    check(!s.is_complex() || s.to_complex().imag() == 0,
          "value cannot be converted to type double without overflow");
    return PyFloat_FromDouble(s.to_double());
  });
}
PyObject* to_int(PyObject* o) {
  return guarded([&]() -> PyObject* {
    ASK("__int__");
    Scalar s = number_of(o);
    check(!s.is_complex() || s.to_complex().imag() == 0,
          "value cannot be converted to type int64_t without overflow");
    if (s.is_integral()) return PyLong_FromLongLong(s.to_int());
    return must(PyLong_FromDouble(s.to_double()));
  });
}
PyObject* to_index(PyObject* o) {
  return guarded([&]() -> PyObject* {
    ASK("__index__");
    const Tensor& t = self_of(o);
    check<TypeError>(category(t.dtype()) <= Category::Integral && t.numel() == 1,
                     "only integer tensors of a single element can be converted to an index");
    return PyLong_FromLongLong(ops::item(t).to_int());
  });
}
PyObject* to_complex(PyObject* o, PyObject*) {
  return guarded([&]() -> PyObject* {
    ASK("__complex__");
    auto z = number_of(o).to_complex();
    return PyComplex_FromDoubles(z.real(), z.imag());
  });
}

Py_ssize_t length(PyObject* o) {
  Py_ssize_t n = -1;
  guarded_status([&] {
    if (asks_override(o)) [[unlikely]] {
      Object answer(must(override_method(o, "__len__")));
      n = Py_ssize_t(as_int(answer.get()));
      return;
    }
    const Tensor& t = self_of(o);
    check<TypeError>(t.dim() > 0, "len() of a 0-d tensor");
    n = t.sizes()[0];
  });
  return n;
}

PyObject* iterate(PyObject* o) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = self_of(o);
    check<TypeError>(t.dim() > 0, "iteration over a 0-d tensor");
    Object parts(asks_override(o) ? must(PyObject_CallMethod(o, "unbind", "i", 0))
                                  : must(wrap(ops::unbind(t, 0))));
    return must(PyObject_GetIter(parts.get()));
  });
}

Py_hash_t identity_hash(PyObject* o) { return reinterpret_cast<Py_hash_t>(o); }  // id(o)

// ---- plain methods
// ---------------------------------------------------------------------------------------

// The argument of a method that takes at most one, by position or by name; null if left out.
PyObject* only_argument(const char* op, const char* name, PyObject* const* args, Py_ssize_t n,
                        PyObject* kw) {
  if (n > 1)
    fail<TypeError>(op, "() takes from 0 to 1 positional arguments but ", n, " were given");
  if (!kw || PyTuple_GET_SIZE(kw) == 0) return n ? args[0] : nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kw); i++)
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kw, i), name) != 0)
      fail<TypeError>(op, "() got an unexpected keyword argument '",
                      PyUnicode_AsUTF8(PyTuple_GET_ITEM(kw, i)), "'");
  if (n) fail<TypeError>(op, "() got multiple values for argument '", name, "'");
  return args[0];
}
int64_t dim_argument(const char* op, const Tensor& t, PyObject* dim) {
  check<TypeError>(!PyBool_Check(dim) && PyIndex_Check(dim), op,
                   "(): argument 'dim' (position 1) must be int, not ", Py_TYPE(dim)->tp_name);
  const int64_t d = as_int(dim);
  check<IndexError>(t.dim() > 0, "Dimension specified as ", d, " but tensor has no dimensions");
  return d;
}

PyObject* size_method(PyObject* o, PyObject* const* args, Py_ssize_t n, PyObject* kw) {
  return guarded([&]() -> PyObject* {
    if (asks_override(o)) [[unlikely]]
      return must(override_method(o, "size", args, n, kw));
    const Tensor& t = self_of(o);
    PyObject* dim = only_argument("size", "dim", args, n, kw);
    if (!dim || dim == Py_None) return wrap_size(t.sizes());
    return PyLong_FromLongLong(t.size(dim_argument("size", t, dim)));
  });
}
PyObject* stride_method(PyObject* o, PyObject* const* args, Py_ssize_t n, PyObject* kw) {
  return guarded([&]() -> PyObject* {
    if (asks_override(o)) [[unlikely]]
      return must(override_method(o, "stride", args, n, kw));
    const Tensor& t = self_of(o);
    PyObject* dim = only_argument("stride", "dim", args, n, kw);
    if (dim && dim != Py_None) return PyLong_FromLongLong(t.stride(dim_argument("stride", t, dim)));
    Object out(must(PyTuple_New(t.dim())));
    for (int64_t i = 0; i < t.dim(); i++)
      PyTuple_SET_ITEM(out.get(), i, PyLong_FromLongLong(t.strides()[size_t(i)]));
    return out.release();
  });
}
template <MethodName Name, auto F>
PyObject* no_argument(PyObject* o, PyObject*) {
  return guarded([&]() -> PyObject* {
    ASK(Name.text);
    return F(self_of(o));
  });
}
#define PLAIN(NAME, EXPRESSION, DOC)                                                        \
  PyMethodDef {                                                                             \
    NAME, no_argument<NAME, [](const Tensor& t) -> PyObject* { return wrap(EXPRESSION); }>, \
        METH_NOARGS, DOC                                                                    \
  }

PyObject* requires_grad_method(PyObject* o, PyObject* const* args, Py_ssize_t n, PyObject* kw) {
  return guarded([&]() -> PyObject* {
    if (asks_override(o)) [[unlikely]]
      return must(override_method(o, "requires_grad_", args, n, kw));
    PyObject* value = only_argument("requires_grad_", "requires_grad", args, n, kw);
    check<TypeError>(!value || PyBool_Check(value),
                     "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not ",
                     value ? Py_TYPE(value)->tp_name : "");
    check(
        thread_state.transforms == 0,
        "You are attempting to call Tensor.requires_grad_() inside a function that is transformed "
        "(perhaps through torch.autograd.functional). This is not supported: use the transforms "
        "instead (grad, vjp, jacrev, jacfwd, hessian), or call requires_grad_() outside of it.");
    set_requires_grad(self_of(o), !value || value == Py_True);
    return incref(o);
  });
}
PyObject* is_contiguous_method(PyObject* o, PyObject* const* args, Py_ssize_t n, PyObject* kw) {
  return guarded([&]() -> PyObject* {
    if (asks_override(o)) [[unlikely]]
      return must(override_method(o, "is_contiguous", args, n, kw));
    MemoryFormat f = MemoryFormat::Contiguous;
    if (PyObject* format = only_argument("is_contiguous", "memory_format", args, n, kw)) {
      check<TypeError>(is_memory_format(format),
                       "is_contiguous(): memory_format must be a torch.memory_format");
      f = as_memory_format(format);
    }
    return wrap(self_of(o).is_contiguous(f));
  });
}
void detach_here(const Tensor& t) {
  if (auto* m = meta_if(t)) {
    check(!m->view, "Can't detach views in-place. Use detach() instead.");
    m->grad_fn = nullptr;
    m->requires_grad = false;
    t->requires_grad = false;
  }
  if (!is_transform(t)) return;
  TransformRecord& record = record_of(t);
  record.tangent = Tensor();
  if (record.kind == TransformKind::Batch) detach_here(record.value);
}
PyObject* detach_in_place(PyObject* o, PyObject*) {
  return guarded([&]() -> PyObject* {
    ASK("detach_");
    detach_here(self_of(o));
    return incref(o);
  });
}

char* address(const Tensor& t) {
  check(!is_sparse(t), "Cannot access data pointer of Tensor that doesn't have storage");
  check(!is_transform(t),
        "Cannot access data pointer of Tensor that doesn't have storage (it is inside a function "
        "transform: vmap, grad, jvp)");
  return t.bytes();
}

PyMethodDef tensor_methods[] = {
    {"size", reinterpret_cast<PyCFunction>(size_method), METH_FASTCALL | METH_KEYWORDS,
     "size(dim=None) -> Size or int"},
    {"stride", reinterpret_cast<PyCFunction>(stride_method), METH_FASTCALL | METH_KEYWORDS,
     "stride(dim=None) -> tuple or int"},
    {"requires_grad_", reinterpret_cast<PyCFunction>(requires_grad_method),
     METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"is_contiguous", reinterpret_cast<PyCFunction>(is_contiguous_method),
     METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"detach_", detach_in_place, METH_NOARGS, nullptr},
    {"__complex__", to_complex, METH_NOARGS, nullptr},
    {"__long__", [](PyObject* o, PyObject*) { return to_int(o); }, METH_NOARGS, nullptr},
    {"__nonzero__",
     [](PyObject* o, PyObject*) -> PyObject* {
       const int value = truth(o);
       return value < 0 ? nullptr : PyBool_FromLong(value);
     },
     METH_NOARGS, nullptr},
    PLAIN("dim", t.dim(), "Number of dimensions."),
    {"ndimension", no_argument<"dim", [](const Tensor& t) { return wrap(t.dim()); }>, METH_NOARGS,
     nullptr},
    PLAIN("numel", t.numel(), "Number of elements."),
    {"nelement", no_argument<"numel", [](const Tensor& t) { return wrap(t.numel()); }>, METH_NOARGS,
     nullptr},
    PLAIN("element_size", t.itemsize(), "Bytes of one element."),
    PLAIN("storage_offset", t.offset(), nullptr),
    PLAIN("is_floating_point", t.is_floating(), nullptr),
    PLAIN("is_complex", t.is_complex(), nullptr),
    PLAIN("is_signed", is_signed(t.dtype()), nullptr),
    PLAIN("is_inference", bool(t->inference), nullptr),
    PLAIN("is_conj", false, nullptr),
    PLAIN("is_neg", false, nullptr),
    PLAIN("data_ptr", int64_t(reinterpret_cast<intptr_t>(t.is_meta() ? nullptr : address(t))),
          "Address of the first element."),
    PLAIN("_is_view", bool(meta_if(t) && meta_if(t)->view), nullptr),
};
constexpr size_t kPlainMethods = sizeof(tensor_methods) / sizeof(PyMethodDef);
#undef PLAIN

PyMemberDef tensor_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(PyTensor, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(PyTensor, weakrefs), READONLY, nullptr},
    {}};

void fill_operators() {
  std::unordered_map<std::string, int> index;
  for (int i = 0; i < kSymbols; i++) index[kSymbolText[i]] = i;
  for (const FamilyTables* f = family_tables; f->functions; f++)
    for (const OperatorSlot* s = f->operators; s->kind; s++) {
      auto& table = s->kind[0] == 'o'   ? forward_call
                    : s->kind[0] == 'r' ? reflected_call
                                        : inplace_call;
      table[index.at(s->symbol)] = s->call;
    }
}

PyMethodDef* all_methods() {
  auto* list = new std::vector<PyMethodDef>(tensor_methods, tensor_methods + kPlainMethods);
  for (const FamilyTables* f = family_tables; f->functions; f++)
    for (PyMethodDef* m = f->methods; m->ml_name; m++) list->push_back(*m);
  for (PyMethodDef* m = interop_methods; m->ml_name; m++) list->push_back(*m);
  for (PyMethodDef* m = autograd_methods; m->ml_name; m++) list->push_back(*m);
  list->push_back({});
  return list->data();
}

template <class F>
PyType_Slot slot(int id, F* f) {
  return {id, reinterpret_cast<void*>(f)};
}

}  // namespace

PyObject* wrap(const Tensor& t) {
  if (!t.defined()) Py_RETURN_NONE;
  TensorImpl* impl = t.impl();
  if (impl->pyobject) {
    auto* o = static_cast<PyObject*>(impl->pyobject);
    if (impl->owns_pyobject) {
      // swap back: the object holds the impl again, and its one reference passes to the caller
      impl->owns_pyobject = false;
      impl->retain();
      return o;
    }
    return incref(o);
  }
  // made inside inference_mode, and no view of an older tensor
  if (thread_state.inference_mode && impl->storage->use_count() == 1) [[unlikely]]
    impl->inference = true;
  PyObject* o = allocate_object(tensor_type);
  new (&of(o)->tensor) Tensor(t);
  impl->pyobject = o;
  collector::enter(of(o));
  return o;
}

PyObject* wrap_as(const Tensor& t, PyTypeObject* type) {
  check(!t->pyobject, "this tensor already has a Python object");
  PyObject* o = must(type->tp_alloc(type, 0));
  new (&of(o)->tensor) Tensor(t);
  t->pyobject = o;
  collector::enter(of(o));
  return o;
}

PyTypeObject* make_tensor_type(PyObject* module) {
  fill_operators();
  TensorImpl::release_pyobject = release_object;
  std::vector<PyType_Slot> slots = {slot(Py_tp_new, tensor_new),
                                    slot(Py_tp_dealloc, tensor_dealloc),
                                    slot(Py_tp_traverse, tensor_traverse),
                                    slot(Py_tp_clear, tensor_clear),
                                    {Py_tp_getset, tensor_getset},
                                    {Py_tp_members, tensor_members},
                                    {Py_tp_methods, all_methods()},
                                    slot(Py_tp_richcompare, compare),
                                    slot(Py_tp_hash, identity_hash),
                                    slot(Py_tp_iter, iterate),
                                    slot(Py_mp_length, length),
                                    slot(Py_mp_subscript, tensor_getitem),
                                    slot(Py_mp_ass_subscript, tensor_setitem),
                                    slot(Py_nb_add, binary<kAdd>),
                                    slot(Py_nb_subtract, binary<kSub>),
                                    slot(Py_nb_multiply, binary<kMul>),
                                    slot(Py_nb_true_divide, binary<kDiv>),
                                    slot(Py_nb_floor_divide, binary<kFloorDiv>),
                                    slot(Py_nb_remainder, binary<kMod>),
                                    slot(Py_nb_power, power),
                                    slot(Py_nb_matrix_multiply, binary<kMatmul>),
                                    slot(Py_nb_and, binary<kAnd>),
                                    slot(Py_nb_or, binary<kOr>),
                                    slot(Py_nb_xor, binary<kXor>),
                                    slot(Py_nb_lshift, binary<kLshift>),
                                    slot(Py_nb_rshift, binary<kRshift>),
                                    slot(Py_nb_inplace_add, in_place<kAdd>),
                                    slot(Py_nb_inplace_subtract, in_place<kSub>),
                                    slot(Py_nb_inplace_multiply, in_place<kMul>),
                                    slot(Py_nb_inplace_true_divide, in_place<kDiv>),
                                    slot(Py_nb_inplace_floor_divide, in_place<kFloorDiv>),
                                    slot(Py_nb_inplace_remainder, in_place<kMod>),
                                    slot(Py_nb_inplace_power, power_in_place),
                                    slot(Py_nb_inplace_and, in_place<kAnd>),
                                    slot(Py_nb_inplace_or, in_place<kOr>),
                                    slot(Py_nb_inplace_xor, in_place<kXor>),
                                    slot(Py_nb_inplace_lshift, in_place<kLshift>),
                                    slot(Py_nb_inplace_rshift, in_place<kRshift>),
                                    slot(Py_nb_negative, unary<kNeg>),
                                    slot(Py_nb_positive, positive),
                                    slot(Py_nb_absolute, unary<kAbs>),
                                    slot(Py_nb_invert, unary<kInvert>),
                                    slot(Py_nb_bool, truth),
                                    slot(Py_nb_int, to_int),
                                    slot(Py_nb_float, to_float),
                                    slot(Py_nb_index, to_index),
                                    slot(Py_bf_getbuffer, tensor_getbuffer),
                                    slot(Py_bf_releasebuffer, tensor_releasebuffer),
                                    {0, nullptr}};
  PyType_Spec spec{"flambeau.Tensor", sizeof(PyTensor), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots.data()};
  tensor_type =
      reinterpret_cast<PyTypeObject*>(must(PyType_FromModuleAndSpec(module, &spec, nullptr)));
  must(PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(tensor_type)));
  return tensor_type;
}

}  // namespace flambeau::bind
