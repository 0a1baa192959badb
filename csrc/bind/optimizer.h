// What a step of an optimizer needs of every parameter, collected in one walk.
#pragma once
#include "bind/python.h"

namespace flambeau::bind {

// _optimizer_lists(params, state, tensors, counters) -> (lists, fresh, others). `lists`: the
// parameters that have a gradient, the gradients, and for each key of `tensors` and `counters` that
// state of theirs. `fresh`: parameters whose state lacks one of the keys. `others`: parameters that
// only the operators can update, such as ones whose state has another dtype.
PyObject* optimizer_lists(PyObject*, PyObject* const* args, Py_ssize_t n);

}  // namespace flambeau::bind
