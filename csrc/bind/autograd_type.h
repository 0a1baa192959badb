// Python side of autograd: graph nodes, backward, hooks, grad modes, custom functions.
#pragma once
#include "autograd/node.h"
#include "bind/python.h"

namespace flambeau::bind {

PyObject* wrap_node(const Ref<Node>& node);  // None when null
extern PyMethodDef autograd_methods[];       // methods of Tensor
void add_autograd(PyObject* module);

}  // namespace flambeau::bind
