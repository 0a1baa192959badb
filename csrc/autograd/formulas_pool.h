// Pieces of pooling formulas.
#pragma once
#include "core/tensor.h"

namespace flambeau::formulas {

// Gradients added at the positions (in the flattened plane) that won.
Tensor place_in_plane(const Tensor& grad, const Tensor& at, const Dims& sizes);
Dims inner_sizes(const Dims& sizes);
// The leading part of a tensor: output padding of a transposed convolution leaves outputs without
// an input.
Tensor cut_to(const Tensor& t, const Dims& sizes);

}  // namespace flambeau::formulas
