// A recurrent layer of one direction, as the compositions of this folder pass it on.
#pragma once
#include "ops/all.h"

namespace flambeau {

enum class RnnKind { Lstm, Gru, Tanh, Relu };

struct LayerInputs {
  RnnKind kind;
  TensorList tensors;  // input, hx, cx of an LSTM, w_ih, w_hh, and perhaps both biases
  Dims batch_sizes;    // empty: the input is (steps, batch, features)
  bool reverse;
  OptTensor projection;  // of an LSTM's hidden state
};

struct LayerResults {
  Tensor output, hy, cy;  // cy undefined but for an LSTM
};

LayerResults composed_layer(const LayerInputs& in);

}  // namespace flambeau
