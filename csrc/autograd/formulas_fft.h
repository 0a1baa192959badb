// Derivatives of Fourier transforms.
#pragma once
#include "core/tensor.h"

namespace flambeau::formulas {

Tensor fft_r2c_grad(const Tensor& grad, const Dims& sizes, const Dims& dim, int64_t normalization,
                    bool onesided);
Tensor fft_c2r_grad(const Tensor& grad, const Dims& dim, int64_t normalization);

}  // namespace flambeau::formulas
