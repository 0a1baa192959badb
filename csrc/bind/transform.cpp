#include "bind/transform.h"

#include "autograd/node.h"
#include "bind/convert.h"
#include "bind/tensor_type.h"
#include "core/transform.h"

namespace flambeau::bind {
namespace {

PyObject* dispatcher = nullptr;         // dispatch(name, level, arguments)
PyObject* sparse_dispatcher = nullptr;  // dispatch(name, arguments), loaded on first use

// ---- boxed values <-> Python --------------------------------------------------------------------

template <class T>
const T& at(const Boxed& b) {
  return *static_cast<const T*>(b.at);
}
template <class T>
PyObject* wrap_opt(const Boxed& b) {
  const auto& v = at<std::optional<T>>(b);
  if (!v) Py_RETURN_NONE;
  return wrap(*v);
}

PyObject* to_python(const Boxed& b) {
  switch (b.kind) {
    case BoxKind::Tensor:
      return wrap(at<Tensor>(b));
    case BoxKind::OptTensor:
      return wrap_opt<Tensor>(b);
    case BoxKind::TensorList:
      return wrap(at<TensorList>(b));
    case BoxKind::OptTensorList: {
      const auto& list = at<std::vector<OptTensor>>(b);
      Object out(must(PyTuple_New(Py_ssize_t(list.size()))));
      for (size_t i = 0; i < list.size(); i++)
        PyTuple_SET_ITEM(out.get(), Py_ssize_t(i),
                         list[i] ? must(wrap(*list[i])) : incref(Py_None));
      return out.release();
    }
    case BoxKind::Operand: {
      const auto& v = at<Operand>(b);
      return v.is_tensor() ? wrap(v.tensor()) : wrap(v.scalar());
    }
    case BoxKind::Scalar:
      return wrap(at<Scalar>(b));
    case BoxKind::OptScalar:
      return wrap_opt<Scalar>(b);
    case BoxKind::Int:
      return wrap(at<int64_t>(b));
    case BoxKind::OptInt:
      return wrap_opt<int64_t>(b);
    case BoxKind::Ints:
      return wrap(at<Dims>(b));
    case BoxKind::OptInts:
      return wrap_opt<Dims>(b);
    case BoxKind::Float:
      return wrap(at<double>(b));
    case BoxKind::OptFloat:
      return wrap_opt<double>(b);
    case BoxKind::Bool:
      return wrap(at<bool>(b));
    case BoxKind::OptBool:
      return wrap_opt<bool>(b);
    case BoxKind::Str:
      return wrap(at<std::string>(b));
    case BoxKind::OptStr:
      return wrap_opt<std::string>(b);
    case BoxKind::DType:
      return wrap(at<DType>(b));
    case BoxKind::OptDType:
      return wrap_opt<DType>(b);
    case BoxKind::OptDevice:
      return wrap_opt<Device>(b);
    case BoxKind::OptMemoryFormat:
      return wrap_opt<MemoryFormat>(b);
    case BoxKind::Generator:
      return wrap(at<Generator*>(b));
    case BoxKind::None:
      break;
  }
  Py_RETURN_NONE;
}

Tensor tensor_or_undefined(const char* name, PyObject* o) {
  if (o == Py_None) return Tensor();
  check<TypeError>(is_tensor(o), name,
                   ": the rule of a function transform or sparse tensor must return ",
                   "Tensors, got ", Py_TYPE(o)->tp_name);
  return as_tensor(o);
}

void from_python(const char* name, PyObject* o, void* result, BoxKind kind, size_t count) {
  switch (kind) {
    case BoxKind::None:
      return;
    case BoxKind::Tensor: {
      Tensor* out = static_cast<Tensor*>(result);
      if (count == 1) {
        *out = tensor_or_undefined(name, o);
        return;
      }
      Object items(must(PySequence_Tuple(o)));
      check<TypeError>(size_t(PyTuple_GET_SIZE(items.get())) == count, name,
                       ": the interpreter of a function transform must return ", count, " Tensors");
      for (size_t i = 0; i < count; i++)
        out[i] = tensor_or_undefined(name, PyTuple_GET_ITEM(items.get(), Py_ssize_t(i)));
      return;
    }
    case BoxKind::TensorList: {
      Object items(must(PySequence_Tuple(o)));
      *static_cast<TensorList*>(result) = as_tensor_list(items.get());
      return;
    }
    case BoxKind::Scalar:
      *static_cast<Scalar*>(result) = as_scalar(o);
      return;
    case BoxKind::Int:
      *static_cast<int64_t*>(result) = as_int(o);
      return;
    case BoxKind::Float:
      *static_cast<double*>(result) = as_float(o);
      return;
    case BoxKind::Bool:
      *static_cast<bool*>(result) = as_bool(o);
      return;
    case BoxKind::Str:
      *static_cast<std::string*>(result) = as_str(o);
      return;
    case BoxKind::DType:
      *static_cast<DType*>(result) = as_dtype(o);
      return;
    case BoxKind::Ints:
      *static_cast<Dims*>(result) = as_dims(o, 0);
      return;
    default:
      fail(name, ": this operator has no result that a function transform could pass on");
  }
}

// ---- the hook -----------------------------------------------------------------------------------

// What decides who carries out a call: the highest level among the arguments, -1 without any tensor
// that stands for others.
void find_level(const Tensor& t, int64_t& level) {
  if (is_transform(t)) level = std::max(level, record_of(t).level);
}
int64_t level_of(const Boxed* args, size_t n) {
  int64_t level = -1;
  for (size_t i = 0; i < n; i++) {
    const Boxed& b = args[i];
    if (b.kind == BoxKind::Tensor) find_level(at<Tensor>(b), level);
    if (b.kind == BoxKind::OptTensor && at<OptTensor>(b)) find_level(*at<OptTensor>(b), level);
    if (b.kind == BoxKind::Operand) find_level(at<Operand>(b).tensor(), level);
    if (b.kind == BoxKind::TensorList)
      for (auto& t : at<TensorList>(b)) find_level(t, level);
    if (b.kind == BoxKind::OptTensorList)
      for (auto& t : at<std::vector<OptTensor>>(b))
        if (t) find_level(*t, level);
  }
  return level;
}

// Sparse tensors: their rules compute on indices and values, of which nothing is recorded.
void run_sparse(const char* name, PyObject* args, void* result, BoxKind kind, size_t count) {
  Scoped<uint8_t> mode(thread_state.grad_mode, kGradOff);
  Scoped<int32_t> transforms(thread_state.transforms, 0);
  if (!sparse_dispatcher) {
    Object module(must(PyImport_ImportModule("flambeau._sparse.dispatch")));
    sparse_dispatcher = must(PyObject_GetAttrString(module.get(), "dispatch"));
  }
  Object text(must(PyUnicode_InternFromString(name)));
  PyObject* passed[] = {text.get(), args};
  Object out(must(PyObject_Vectorcall(sparse_dispatcher, passed, 2, nullptr)));
  from_python(name, out.get(), result, kind, count);
}

// What is recorded below a recorded operator is up to the interpreter: it starts with the mode that
// the caller of the operator had.
void run_hook(const char* name, const Boxed* args, size_t n, void* result, BoxKind kind,
              size_t count) {
  WithGil gil;
  const DeviceType asked = boxed_device;
  Object list(must(PyTuple_New(Py_ssize_t(n))));
  for (size_t i = 0; i < n; i++)
    PyTuple_SET_ITEM(list.get(), Py_ssize_t(i), must(to_python(args[i])));
  const int64_t highest = level_of(args, n);
  if (highest == 0 || (highest < 0 && asked != DeviceType::Transform))
    return run_sparse(name, list.get(), result, kind, count);
  Scoped<uint8_t> mode(thread_state.grad_mode,
                       thread_state.grad_mode == kGradOff ? kGradOff : kGradOn);
  Scoped<int32_t> transforms(thread_state.transforms, thread_state.transforms);
  if (!dispatcher) Object loaded(must(PyImport_ImportModule("flambeau._transforms.interpreter")));
  check(dispatcher != nullptr, name, ": no function transform is loaded");
  Object text(must(PyUnicode_InternFromString(name))),
      level(must(wrap(std::max<int64_t>(highest, 0))));
  PyObject* passed[] = {text.get(), level.get(), list.get()};
  Object out(must(PyObject_Vectorcall(dispatcher, passed, 3, nullptr)));
  from_python(name, out.get(), result, kind, count);
}

// ---- functions of the module --------------------------------------------------------------------

PyObject* set_dispatcher(PyObject*, PyObject* f) {
  Py_XSETREF(dispatcher, incref(f));
  Py_RETURN_NONE;
}
PyObject* set_transforms(PyObject*, PyObject* n) {
  return guarded([&]() -> PyObject* {
    const int32_t before = thread_state.transforms;
    thread_state.transforms = int32_t(as_int(n));
    return PyLong_FromLong(before);
  });
}

std::shared_ptr<void> keep(PyObject* o) {
  return {incref(o), [](void* p) {
            WithGil gil;
            Py_DECREF(static_cast<PyObject*>(p));
          }};
}

// _transform(owner, level, kind, value, tangent, batch_dim) -> Tensor
PyObject* make(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    check<TypeError>(n == 6 && is_tensor(args[3]), "_transform: expected six arguments");
    const Tensor value = as_tensor(args[3]);
    const int64_t kind = as_int(args[2]), dim = as_int(args[5]);
    check(kind >= 0 && kind <= 2, "_transform: no such kind of transform: ", kind);
    check(TransformKind(kind) != TransformKind::Batch || (dim >= 0 && dim < value.dim()),
          "_transform: no dimension ", dim, " in a tensor of shape ", value.sizes());
    return wrap(make_transform(make_ref<TransformRecord>(
        TransformKind(kind), as_int(args[1]), value,
        args[4] == Py_None ? Tensor() : tensor_or_undefined("_transform", args[4]), dim,
        keep(args[0]))));
  });
}

TransformRecord& record_argument(PyObject* o, const char* op) {
  check<TypeError>(is_tensor(o) && is_transform(as_tensor(o)) &&
                       record_of(as_tensor(o)).kind != TransformKind::Sparse,
                   op, ": expected a tensor of a function transform");
  return record_of(as_tensor(o));
}

// _transform_of(t) -> None or (owner, level, kind, value, tangent, batch_dim)
PyObject* look(PyObject*, PyObject* o) {
  if (!is_tensor(o) || !is_transform(as_tensor(o))) Py_RETURN_NONE;
  if (record_of(as_tensor(o)).kind == TransformKind::Sparse) Py_RETURN_NONE;
  return guarded([&]() -> PyObject* {
    const TransformRecord& r = record_of(as_tensor(o));
    Object value(must(wrap(r.value))), tangent(must(wrap(r.tangent)));
    return Py_BuildValue("(OLiOOL)", static_cast<PyObject*>(r.owner.get()),
                         static_cast<long long>(r.level), int(r.kind), value.get(), tangent.get(),
                         static_cast<long long>(r.batch_dim));
  });
}
// _transform_device(t) -> the device that factories beside ``t`` get
PyObject* device_py(PyObject*, PyObject* o) {
  if (!is_tensor(o)) Py_RETURN_NONE;
  return guarded([&] { return wrap(as_tensor(o).device()); });
}
// _transform_level(t) -> its level, 0 for any other tensor
PyObject* level_py(PyObject*, PyObject* o) {
  return PyLong_FromLongLong(
      is_tensor(o) && is_transform(as_tensor(o)) ? record_of(as_tensor(o)).level : 0);
}
// _transform_set(t, value, tangent): after a change in place
PyObject* change(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    check<TypeError>(n == 3, "_transform_set: expected three arguments");
    TransformRecord& r = record_argument(args[0], "_transform_set");
    const Tensor value = tensor_or_undefined("_transform_set", args[1]);
    check(value.defined(), "_transform_set: a value is needed");
    const Tensor tangent = tensor_or_undefined("_transform_set", args[2]);
    r.value = value;
    r.tangent = tangent;
    refresh_geometry(as_tensor(args[0]));
    Py_RETURN_NONE;
  });
}
// _transform_adopt(t, owner, level, kind): the tensor itself becomes one of the level; what it was
// is its value from now on
PyObject* adopt(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    check<TypeError>(n == 4 && is_tensor(args[0]), "_transform_adopt: expected four arguments");
    const Tensor& t = as_tensor(args[0]);
    const int64_t kind = as_int(args[3]);
    check(kind == int(TransformKind::Grad) || kind == int(TransformKind::Dual),
          "_transform_adopt: no such kind of transform: ", kind);
    check(!t->requires_grad || !is_leaf(t), "_transform_adopt: a leaf that requires grad");
    Tensor value = alias(t, t.sizes(), t.strides(), t.offset());
    value->autograd = std::move(t->autograd);
    value->requires_grad = t->requires_grad;
    t->requires_grad = false;
    t->storage = make_ref<TransformRecord>(TransformKind(kind), as_int(args[2]), value, Tensor(), 0,
                                           keep(args[1]));
    t->device = t->storage->device();
    Py_RETURN_NONE;
  });
}
// _share_version(view, base): changes of one are seen by what saved the other
PyObject* share_version(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    check<TypeError>(n == 2 && is_tensor(args[0]) && is_tensor(args[1]),
                     "_share_version: expected two tensors");
    const Tensor &view = as_tensor(args[0]), &base = as_tensor(args[1]);
    version_counter(base);
    view->counter = base->counter;
    Py_RETURN_NONE;
  });
}

// ---- sparse tensors -----------------------------------------------------------------------------

TransformRecord* sparse_record(PyObject* o) {
  if (!is_tensor(o) || !is_transform(as_tensor(o))) return nullptr;
  TransformRecord& r = record_of(as_tensor(o));
  return r.kind == TransformKind::Sparse ? &r : nullptr;
}

// _sparse(owner, layout, values, sizes) -> Tensor; the layout as the number of a SparseLayout
PyObject* make_sparse_py(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    check<TypeError>(n == 4 && is_tensor(args[2]), "_sparse: expected four arguments");
    const int64_t layout = as_int(args[1]);
    check(layout >= 0 && layout <= int64_t(SparseLayout::Bsc), "_sparse: no such layout: ", layout);
    const Tensor& values = as_tensor(args[2]);
    check(!is_transform(values), "_sparse: values that stand for others");
    return wrap(make_sparse(SparseLayout(layout), values, as_dims(args[3], 0), keep(args[0])));
  });
}
// _sparse_owner(t) -> what was given as owner; None for any other tensor
PyObject* sparse_owner(PyObject*, PyObject* o) {
  TransformRecord* r = sparse_record(o);
  return incref(r ? static_cast<PyObject*>(r->owner.get()) : Py_None);
}
// _sparse_change(t, owner, values, sizes): after a change in place
PyObject* change_sparse(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    check<TypeError>(n == 4 && is_tensor(args[2]), "_sparse_change: expected four arguments");
    TransformRecord* r = sparse_record(args[0]);
    check<TypeError>(r != nullptr, "_sparse_change: expected a sparse tensor");
    const Tensor &t = as_tensor(args[0]), &values = as_tensor(args[2]);
    check(!is_transform(values) && values.dtype() == t.dtype(), "_sparse_change: other values");
    const Dims sizes = as_dims(args[3], 0);
    r->value = values;
    r->owner = keep(args[1]);
    t->set_geometry(sizes, contiguous_strides(sizes), 0);
    Py_RETURN_NONE;
  });
}

PyMethodDef functions[] = {
    {"_sparse", reinterpret_cast<PyCFunction>(make_sparse_py), METH_FASTCALL, nullptr},
    {"_sparse_owner", sparse_owner, METH_O, nullptr},
    {"_sparse_change", reinterpret_cast<PyCFunction>(change_sparse), METH_FASTCALL, nullptr},
    {"_set_dispatcher", set_dispatcher, METH_O, nullptr},
    {"_set_transforms", set_transforms, METH_O, nullptr},
    {"_transform", reinterpret_cast<PyCFunction>(make), METH_FASTCALL, nullptr},
    {"_transform_of", look, METH_O, nullptr},
    {"_transform_device", device_py, METH_O, nullptr},
    {"_transform_level", level_py, METH_O, nullptr},
    {"_transform_set", reinterpret_cast<PyCFunction>(change), METH_FASTCALL, nullptr},
    {"_transform_adopt", reinterpret_cast<PyCFunction>(adopt), METH_FASTCALL, nullptr},
    {"_share_version", reinterpret_cast<PyCFunction>(share_version), METH_FASTCALL, nullptr},
    {}};

}  // namespace

void add_transforms(PyObject* module) {
  boxed_hook = run_hook;
  must(PyModule_AddFunctions(module, functions));
}

}  // namespace flambeau::bind
