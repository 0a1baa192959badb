// Function transforms: calls on their tensors go to an interpreter in Python.
#pragma once
#include "bind/python.h"

namespace flambeau::bind {

void add_transforms(PyObject* module);

}  // namespace flambeau::bind
