// Lets Python's garbage collector see through the graph: see collector.cpp.
#pragma once
#include "bind/autograd_type.h"
#include "bind/tensor_type.h"

namespace flambeau::bind::collector {

void enter(PyTensor* o);
void enter(PyNode* o);
void leave(PyTensor* o);
void leave(PyNode* o);

extern bool active;  // during a full collection
int traverse(const RefCounted* owned, visitproc visit, void* arg);
// Whether the object is part of what the running collection frees.
bool is_garbage(const RefCounted* owned);
// Drops what a tensor's record refers to.
void clear_record(const Tensor& t);

extern int64_t kept_objects;  // Python objects that C++ keeps; changed under the GIL

void add_collector(PyObject* module);

}  // namespace flambeau::bind::collector
