// Derivatives of attention.
#pragma once
#include "core/tensor.h"

namespace flambeau::formulas {

// Of query, key and value: the fused kernel, or a composition while a graph of the backward pass is
// wanted.
TensorList attention_grads(const Tensor& grad, const TensorList& qkv, const OptTensor& mask,
                           const TensorList& results, bool causal, double scale);
// PyTorch has a fused kernel for four dimensions only.
const char* attention_node(const TensorList& qkv);

}  // namespace flambeau::formulas
