#include "bind/optimizer.h"

#include "autograd/node.h"
#include "bind/convert.h"
#include "bind/tensor_type.h"

namespace flambeau::bind {
namespace {

Object new_list() { return Object(must(PyList_New(0))); }
void append(const Object& list, PyObject* item) { must(PyList_Append(list.get(), item)); }

bool takes(const Tensor& p, const Tensor& grad) {
  return p.storage() && grad.storage() && p.device() == grad.device() && !p.is_meta() &&
         (p.is_floating() || p.is_complex()) && grad.dtype() == p.dtype();
}

bool fits(PyObject* o, const Tensor& p) {
  if (!is_plain_tensor(o)) return false;
  const Tensor& t = as_tensor(o);
  return t.storage() && t.dtype() == p.dtype() && t.device() == p.device();
}

bool counts(PyObject* o, const Tensor& p) {
  if (!is_plain_tensor(o)) return false;
  const Tensor& t = as_tensor(o);
  return (t.dtype() == DType::Float32 || t.dtype() == DType::Float64) && t.numel() == 1 &&
         t.device() == p.device();
}

class Walk {
 public:
  Walk(PyObject* state, PyObject* tensors, PyObject* counters)
      : state_(state), keys_{tensors, counters}, fresh_(new_list()), others_(new_list()) {
    const Py_ssize_t width = 2 + PyTuple_GET_SIZE(tensors) + PyTuple_GET_SIZE(counters);
    for (Py_ssize_t i = 0; i < width; i++) lists_.push_back(new_list());
    found_.reserve(size_t(width));
  }

  void visit(PyObject* o) {
    check<TypeError>(is_tensor(o), "optimizer: params must hold Tensors, but got ",
                     Py_TYPE(o)->tp_name);
    const Tensor& p = as_tensor(o);
    const AutogradMeta* meta = meta_if(p);
    if (!meta || !meta->grad.defined()) return;
    Object grad(must(wrap(meta->grad)));
    // borrowed from the state's dicts: nothing here runs Python code that could change them
    found_.clear();
    bool plain = is_plain_tensor(o) && is_plain_tensor(grad.get()) && takes(p, meta->grad);
    if (width() > 2) {
      PyObject* own = PyDict_GetItemWithError(state_, o);
      if (PyErr_Occurred()) throw PythonError{};
      if (!own || !PyDict_Check(own) || !find(own, p, plain)) return append(fresh_, o);
    }
    if (!plain) return append(others_, o);
    append(lists_[0], o);
    append(lists_[1], grad.get());
    for (size_t i = 0; i < found_.size(); i++) append(lists_[i + 2], found_[i]);
  }

  PyObject* result() {
    Object lists(must(PyTuple_New(Py_ssize_t(lists_.size()))));
    for (size_t i = 0; i < lists_.size(); i++)
      PyTuple_SET_ITEM(lists.get(), Py_ssize_t(i), lists_[i].release());
    return must(PyTuple_Pack(3, lists.get(), fresh_.get(), others_.get()));
  }

 private:
  size_t width() const { return lists_.size(); }

  // False when a key is missing; clears `plain` when a tensor is not what the kernels take.
  bool find(PyObject* own, const Tensor& p, bool& plain) {
    for (int kind = 0; kind < 2; kind++)
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys_[kind]); i++) {
        PyObject* value = PyDict_GetItemWithError(own, PyTuple_GET_ITEM(keys_[kind], i));
        if (PyErr_Occurred()) throw PythonError{};
        if (!value || value == Py_None) return false;
        plain = plain && (kind ? counts(value, p) : fits(value, p));
        found_.push_back(value);
      }
    return true;
  }

  PyObject* state_;
  PyObject* keys_[2];
  std::vector<Object> lists_;
  std::vector<PyObject*> found_;
  Object fresh_, others_;
};

}  // namespace

PyObject* optimizer_lists(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    check<TypeError>(n == 4 && PyList_Check(args[0]) && PyDict_Check(args[1]) &&
                         PyTuple_Check(args[2]) && PyTuple_Check(args[3]),
                     "_optimizer_lists expects (params: list, state: dict, tensors: tuple, "
                     "counters: tuple)");
    Walk walk(args[1], args[2], args[3]);
    // the list may only be read by index: hashing a tensor of a subclass may run Python code
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(args[0]); i++) {
      Object param = borrow(PyList_GET_ITEM(args[0], i));
      walk.visit(param.get());
    }
    return walk.result();
  });
}

}  // namespace flambeau::bind
