// Pieces of matrix product formulas.
#pragma once
#include "core/tensor.h"

namespace flambeau::formulas {

// beta · self + alpha · product, with beta 0 meaning that self is not read.
Tensor scaled_sum(const Tensor& self, const Tensor& product, const Scalar& beta, const Scalar& alpha);
Tensor linear_weight_grad(const Tensor& grad, const Tensor& input);
Tensor sum_to_last(const Tensor& grad);

}  // namespace flambeau::formulas
