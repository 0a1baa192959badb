// Python side of autograd: graph nodes, backward, hooks, grad modes, custom functions.
#pragma once
#include "autograd/node.h"
#include "bind/python.h"

namespace flambeau::bind {

struct PyNode {
  PyObject_HEAD Ref<Node> node;
  PyNode *before, *after;  // in the collector's ring of all node objects
};

// A Python callable (or other object) kept by C++, released with the GIL held.
std::shared_ptr<PyObject> keep(PyObject* f);
PyObject* wrap_grads(const Grads& grads);  // a new tuple
// Of a list or tuple of tensors and None, or one of them.
Grads unwrap_grads(PyObject* o, const char* what);
TensorList tensor_list(PyObject* o, const char* what);
const char* node_type_name(const Node& node);

// function_node.cpp: autograd.Function
void add_function_nodes(PyObject* module);
PyObject* function_context(const Node& node);  // borrowed; null for other nodes
// saved_hooks.cpp: hooks on saved tensors, and the attributes that show them
void add_saved_hooks(PyObject* module);
PyObject* saved_attribute(PyObject* node, const char* name);  // null without an error if none
PyObject* saved_names(const Node& node);
// anomaly.cpp
void add_anomaly(PyObject* module);

PyObject* wrap_node(const Ref<Node>& node);  // None when null
extern PyMethodDef autograd_methods[];       // methods of Tensor
void add_autograd(PyObject* module);

}  // namespace flambeau::bind
