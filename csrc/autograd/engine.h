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

// A tensor, or the place in the graph where a tensor's gradient arrives.
struct Target {
  Tensor tensor;
  Edge edge;
};

// Gradients of `roots` (weighted by root_grads; undefined means 1 for one-element roots). With
// `inputs`: the gradients of these (accumulate=false), or accumulation into only these: into leaves
// here; the gradients of others are returned.
Grads run_backward(const std::vector<Target>& roots, const Grads& root_grads,
                   const std::vector<Target>& inputs, const BackwardOptions& options);
Grads run_backward(const TensorList& roots, const Grads& root_grads, const TensorList& inputs,
                   const BackwardOptions& options);

// The innermost backward that runs in this thread: its number (0 outside of backward), whether it
// was asked for the gradients of certain inputs only, and whether it runs a node.
uint64_t backward_id();
bool backward_is_selective();
bool backward_reaches(const Node* node);

// Set while a backward runs in this thread: callbacks to run at its end.
void queue_callback(std::function<void()> call);

}  // namespace flambeau
