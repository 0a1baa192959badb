// Python.h first, with the small helpers every binding file uses.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>

#include "core/error.h"

namespace flambeau::bind {

// Thrown when a Python error is already set.
struct PythonError {};

// An owned reference.
class Object {
 public:
  Object() = default;
  explicit Object(PyObject* owned) : p_(owned) {}
  Object(Object&& o) noexcept : p_(o.p_) { o.p_ = nullptr; }
  Object& operator=(Object&& o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Object() { Py_XDECREF(p_); }
  PyObject* get() const { return p_; }
  PyObject* release() {
    PyObject* p = p_;
    p_ = nullptr;
    return p;
  }
  explicit operator bool() const { return p_ != nullptr; }

 private:
  PyObject* p_ = nullptr;
};

inline PyObject* incref(PyObject* p) {
  Py_INCREF(p);
  return p;
}
inline Object borrow(PyObject* p) { return Object(incref(p)); }
// `p`, or PythonError when it is null.
inline PyObject* must(PyObject* p) {
  if (!p) throw PythonError{};
  return p;
}
inline void must(int status) {
  if (status < 0) throw PythonError{};
}

// Translates the C++ exception in flight into a Python error; returns nullptr.
PyObject* raise_python_error() noexcept;
// Runs `f`, translating exceptions; for slots and getters.
template <class F>
PyObject* guarded(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    return raise_python_error();
  }
}
template <class F>
int guarded_status(F&& f) noexcept {
  try {
    f();
    return 0;
  } catch (...) {
    raise_python_error();
    return -1;
  }
}

// Holds the GIL for a scope (callbacks from C++).
struct WithGil {
  PyGILState_STATE state = PyGILState_Ensure();
  ~WithGil() { PyGILState_Release(state); }
};

}  // namespace flambeau::bind
