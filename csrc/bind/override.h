// The __torch_function__ protocol: who wants to see a call (classes of arguments, modes), and the
// callable that gives Python functions a part in it.
#pragma once
#include <vector>

#include "bind/parser.h"
#include "bind/tensor_type.h"

namespace flambeau::bind {

// Modes of this thread that want to see calls; 0 while they are switched off.
extern constinit thread_local int function_modes;

// Whether a call with the argument `o` goes to an override.
inline bool asks_override(PyObject* o) {
  return function_modes || (!is_plain_tensor(o) && torch_function_enabled && has_override(o));
}
// Calls the overrides for `self.name` (accessor "__get__" or "__set__", the latter with a value).
PyObject* override_attribute(PyObject* self, const char* name, const char* accessor,
                             PyObject* value);
// Calls the overrides for the method `name` of Tensor.
PyObject* override_method(PyObject* self, const char* name, PyObject* const* args = nullptr,
                          Py_ssize_t n = 0, PyObject* kwnames = nullptr);
// Calls the overrides for an operator (`self + other`): `name` is the method that stands for it.
PyObject* override_operator(const char* name, PyObject* self, PyObject* other);
// A string that is a template argument: the name of a method.
template <size_t N>
struct MethodName {
  char text[N];
  constexpr MethodName(const char (&s)[N]) {
    for (size_t i = 0; i < N; i++) text[i] = s[i];
  }
};
void add_overrides(PyObject* module);

}  // namespace flambeau::bind
