// Pieces of matrix product formulas.
#pragma once
#include "core/tensor.h"

namespace flambeau::formulas {

// beta · self + alpha · product, with beta 0 meaning that self is not read.
Tensor scaled_sum(const Tensor& self, const Tensor& product, const Scalar& beta,
                  const Scalar& alpha);
Tensor linear_weight_grad(const Tensor& grad, const Tensor& input);
Tensor sum_to_last(const Tensor& grad);
// What PyTorch's composition for such an input ends with.
const char* linear_node(const Tensor& input, const OptTensor& bias);
// Gradient of the distances between rows of x1 and x2 with respect to x1.
Tensor euclidean_grad(const Tensor& grad, const Tensor& x1, const Tensor& x2,
                      const Tensor& distance);

}  // namespace flambeau::formulas
