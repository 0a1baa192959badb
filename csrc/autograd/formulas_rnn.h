// Derivatives of recurrent layers: a native backward sweep, or a composition of primitives while a
// graph of the backward pass is wanted.
#pragma once
#include "core/tensor.h"

namespace flambeau::formulas {

// Names of nodes as PyTorch shows them.
const char* lstm_layer_node(const TensorList& inputs, const Dims& batch_sizes);
const char* rnn_layer_node(const TensorList& inputs, const Dims& batch_sizes);

// Gradients of all inputs of a layer; `saved` is what its forward sweep kept.
TensorList lstm_layer_grads(const TensorList& grads, const TensorList& inputs, const Tensor& saved,
                            const Dims& batch_sizes, bool reverse);
TensorList gru_layer_grads(const TensorList& grads, const TensorList& inputs, const Tensor& saved,
                           const Dims& batch_sizes, bool reverse);
TensorList rnn_layer_grads(const TensorList& grads, const TensorList& inputs, const Tensor& saved,
                           bool relu, const Dims& batch_sizes, bool reverse);

}  // namespace flambeau::formulas
