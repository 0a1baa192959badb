// An index expression becomes a chain of views (select, slice, unsqueeze), then at most one gather
// with the index tensors that remain.
#include "bind/indexing.h"

#include "autograd/node.h"
#include "bind/generated.h"
#include "bind/override.h"
#include "core/transform.h"
#include "kernels/pointwise.h"

namespace flambeau::bind {
Tensor tensor_from_sequence(PyObject* o) {
  static PyObject* make = nullptr;
  if (!make) {
    Object m(must(PyImport_ImportModule("flambeau._factory")));
    make = must(PyObject_GetAttrString(m.get(), "tensor"));
  }
  Object t(must(PyObject_CallOneArg(make, o)));
  return as_tensor(t.get());
}

namespace {

bool is_array_like(PyObject* o) {
  // the usual kinds first: asking them for a missing attribute costs more than the whole view
  if (PySlice_Check(o) || PyLong_Check(o) || o == Py_None || o == Py_Ellipsis) return false;
  return PyList_Check(o) || PyTuple_Check(o) || PyRange_Check(o) ||
         (PyObject_HasAttrString(o, "__array__") && !is_number(o));
}

// A list that holds slices, tensors or sequences as the whole index is read as a tuple, as NumPy
// did.
bool acts_as_tuple(PyObject* index) {
  if (PyTuple_Check(index)) return true;
  if (!PyList_Check(index) || PyList_GET_SIZE(index) >= 32) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(index); i++) {
    PyObject* o = PyList_GET_ITEM(index, i);
    if (is_tensor(o) || PySlice_Check(o) || o == Py_Ellipsis || o == Py_None) return true;
    if (PySequence_Check(o) && !is_number(o)) return true;
  }
  return false;
}

int64_t consumed_dims(PyObject* o) {
  if (o == Py_None || o == Py_Ellipsis || PyBool_Check(o)) return 0;
  if (is_tensor(o)) {
    const Tensor& t = as_tensor(o);
    if (t.dtype() == DType::Bool || t.dtype() == DType::UInt8) return t.dim();
  }
  return 1;
}

Object index_tensor(PyObject* o) {
  Tensor t = tensor_from_sequence(o);
  if (category(t.dtype()) >= Category::Floating || (t.numel() == 0 && t.dtype() != DType::Bool))
    t = cast_of(t, DType::Int64);  // lists and arrays of floats are read as integers
  return Object(must(wrap(t)));
}

struct Indexed {
  Tensor view;
  std::vector<OptTensor> gather;  // per dimension of `view`; empty when none
};

// Applies the view parts of `index` to `self`.
Indexed apply_index(Tensor self, PyObject* index) {
  Object as_tuple;
  if (PyList_Check(index) && acts_as_tuple(index)) {
    as_tuple = Object(must(PyList_AsTuple(index)));
    index = as_tuple.get();
  }
  const Py_ssize_t n = PyTuple_Check(index) ? PyTuple_GET_SIZE(index) : 1;
  // lists and arrays as tensors first: how many dimensions they take depends on their dtype
  std::vector<Object> items;
  items.reserve(size_t(n));
  int64_t used = 0;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject* o = PyTuple_Check(index) ? PyTuple_GET_ITEM(index, i) : index;
    items.push_back(!is_tensor(o) && is_array_like(o) ? index_tensor(o) : Object(incref(o)));
    used += consumed_dims(items.back().get());
  }
  check<IndexError>(used <= self.dim(), "too many indices for tensor of dimension ", self.dim());
  Indexed out;
  int64_t dim = 0;
  bool ellipsis = false;
  auto put = [&](const Tensor& t) {
    out.gather.resize(size_t(dim) + 1);
    out.gather[size_t(dim)] = t;
  };
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject* o = items[size_t(i)].get();
    if (o == Py_None) {
      self = ops::unsqueeze(self, dim++);
    } else if (o == Py_Ellipsis) {
      check<IndexError>(!ellipsis, "an index can only have a single ellipsis ('...')");
      ellipsis = true;
      int64_t rest = 0;
      for (Py_ssize_t j = i + 1; j < n; j++) rest += consumed_dims(items[size_t(j)].get());
      dim = self.dim() - rest;
    } else if (PyBool_Check(o)) {
      self = ops::unsqueeze(self, dim);
      Tensor flag = empty({}, DType::Bool);
      *flag.data<bool>() = o == Py_True;
      put(ops::unsqueeze(flag, 0));
      dim++;
    } else if (PySlice_Check(o)) {
      Py_ssize_t start, stop, step;
      auto unpack = [&](PyObject* v, Py_ssize_t missing) {
        if (v == Py_None) return missing;
        if (!PyLong_Check(v)) return Py_ssize_t(as_int(v));
        int overflow = 0;  // bounds beyond 64 bits are the largest ones
        const long long n = PyLong_AsLongLongAndOverflow(v, &overflow);
        return overflow > 0 ? PY_SSIZE_T_MAX : overflow < 0 ? PY_SSIZE_T_MIN : Py_ssize_t(n);
      };
      auto* s = reinterpret_cast<PySliceObject*>(o);
      step = unpack(s->step, 1);
      check<ValueError>(step != 0, "slice step cannot be zero");
      check<ValueError>(
          step > 0, "step must be greater than zero (tensors have no negative strides; use flip)");
      start = unpack(s->start, 0);
      stop = unpack(s->stop, PY_SSIZE_T_MAX);
      if (!(start == 0 && stop == PY_SSIZE_T_MAX && step == 1))
        self = ops::slice(self, dim, start, stop, step);
      dim++;
    } else if (is_tensor(o)) {
      const Tensor& t = as_tensor(o);
      if (t.dim() == 0 && category(t.dtype()) == Category::Integral && has_values(t) &&
          t.dtype() != DType::UInt8) {
        // an index tensor without dimensions selects, but keeps gather semantics for assignment
        self = ops::select(self, dim, ops::item(t).to_int());
      } else if (t.dim() == 0 && t.dtype() == DType::Bool) {
        self = ops::unsqueeze(self, dim);
        put(ops::unsqueeze(t, 0));
        dim++;
      } else {
        put(t);
        dim += std::max<int64_t>(consumed_dims(o), 1);
        if (out.gather.size() < size_t(dim)) out.gather.resize(size_t(dim));
      }
    } else if (PyIndex_Check(o)) {
      Object number(must(PyNumber_Index(o)));
      int64_t at = as_int(number.get());
      check<IndexError>(self.dim() > dim,
                        "invalid index of a 0-dim tensor. Use `tensor.item()` in Python to convert "
                        "it to a number");
      self = ops::select(self, dim, at);
    } else {
      fail<IndexError>(
          "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are "
          "valid "
          "indices (got ",
          Py_TYPE(o)->tp_name, ")");
    }
  }
  out.view = self;
  return out;
}

// A multi-dimensional mask occupies several entries: `index` takes one tensor per mask, so drop the
// fillers.
std::vector<OptTensor> compact(const std::vector<OptTensor>& gather) {
  std::vector<OptTensor> out;
  size_t skip = 0;
  for (auto& g : gather) {
    if (skip) {
      skip--;
      continue;
    }
    out.push_back(g);
    if (g && (g->dtype() == DType::Bool || g->dtype() == DType::UInt8) && g->dim() > 1)
      skip = size_t(g->dim() - 1);
  }
  return out;
}

PyObject* override_index(PyObject* self, PyObject* index, PyObject* value, const char* name) {
  PyObject* args[] = {index, value};
  return override_method(self, name, args, value ? 2 : 1);
}

}  // namespace

PyObject* tensor_getitem(PyObject* o, PyObject* index) {
  return guarded([&]() -> PyObject* {
    const bool usual = PyLong_CheckExact(index) || PySlice_Check(index);
    if (asks_override(o) || (!usual && asks_override(index))) [[unlikely]]
      return must(override_index(o, index, nullptr, "__getitem__"));
    const Tensor& self = as_tensor(o);
    if (PyLong_CheckExact(index)) {
      check<IndexError>(self.dim() > 0,
                        "invalid index of a 0-dim tensor. Use `tensor.item()` in Python to convert "
                        "it to a number");
      return wrap(ops::select(self, 0, as_int(index)));
    }
    Indexed r = apply_index(self, index);
    if (!r.gather.empty()) return wrap(ops::index(r.view, compact(r.gather)));
    // x[...] and x[:] are new views, never x itself
    return wrap(r.view.is_same(self) ? ops::alias(self) : r.view);
  });
}

int tensor_setitem(PyObject* o, PyObject* index, PyObject* value) {
  return guarded_status([&] {
    check<TypeError>(value != nullptr, "Tensor does not support deleting items");
    if (asks_override(o)) [[unlikely]] {
      Object done(must(override_index(o, index, value, "__setitem__")));
      return;
    }
    const Tensor& self = as_tensor(o);
    Indexed r = apply_index(self, index);
    if (r.gather.empty()) {
      if (is_number(value)) {
        check_overlap("copy_", r.view, r.view);
        ops::fill_(r.view, Operand(as_scalar(value)));
        return;
      }
      Tensor source = is_tensor(value) ? as_tensor(value) : tensor_from_sequence(value);
      // leading dimensions of size 1 in the value may be dropped
      while (source.dim() > r.view.dim() && source.sizes()[0] == 1)
        source = ops::squeeze_dim(source, 0);
      ops::copy_(r.view, source, false);
      return;
    }
    Tensor source;
    if (is_number(value)) {
      Scalar s = as_scalar(value);
      source = ops::full(Dims{}, s, r.view.dtype(), r.view.device());
    } else {
      source = is_tensor(value) ? as_tensor(value) : tensor_from_sequence(value);
      if (source.dtype() != r.view.dtype()) source = ops::_to_dtype(source, r.view.dtype());
    }
    ops::index_put_(r.view, compact(r.gather), source, false);
  });
}

}  // namespace flambeau::bind
