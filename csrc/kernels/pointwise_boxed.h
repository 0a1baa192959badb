// Pointwise calls in place and with out= on tensors of function transforms.
#pragma once
#include "core/transform.h"
#include "kernels/pointwise.h"

namespace flambeau {

inline bool any_transform(const Tensor& out, std::initializer_list<Input> inputs) {
  bool found = out.device().type == DeviceType::Transform;
  for (const Input& in : inputs)
    found |= in.tensor && in.tensor->device().type == DeviceType::Transform;
  return found;
}
// The whole call goes to the interpreter of the transform.
void run_boxed_out(const PointwiseOp& op, const Tensor& out, std::initializer_list<Input> inputs,
                   std::initializer_list<Scalar> params, bool inplace);

}  // namespace flambeau
