// Runs the backward graph in the calling thread, newest nodes first, without recursion.
#pragma once
#include "autograd/node.h"

namespace flambeau {

struct BackwardOptions {
  bool retain_graph = false;
  bool create_graph = false;
  bool allow_unused = false;
  bool accumulate = true;  // into .grad of the leaves; false for autograd.grad
};

// Gradients of `roots` (weighted by root_grads; undefined means 1 for one-element roots). With
// `inputs`: the gradients of these (accumulate=false), or accumulation into only these.
Grads run_backward(const TensorList& roots, const Grads& root_grads, const TensorList& inputs,
                   const BackwardOptions& options);

// Set while a backward runs in this thread: callbacks to run at its end.
void queue_callback(std::function<void()> call);

}  // namespace flambeau
