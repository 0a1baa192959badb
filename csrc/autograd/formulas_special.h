// Compositions and derivative pieces of the special functions.
#pragma once
#include "core/tensor.h"

namespace flambeau::formulas {

// Refuses: there is no formula for the derivative of that name.
Tensor no_derivative(const std::string& name, const Tensor& grad);
Tensor polygamma_of(int64_t n, const Tensor& self);
Tensor polygamma_next(const Tensor& self, const Scalar& n);
Tensor mvlgamma_grad(const Tensor& grad, const Tensor& self, int64_t p);
Tensor i1_grad(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor i1e_grad(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor masked_log1p(const Tensor& self, const Operand& other);
Tensor frexp_grad(const Tensor& grad, const Tensor& exponent);

}  // namespace flambeau::formulas
