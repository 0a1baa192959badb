#include "autograd/formulas_special.h"

#include "autograd/formulas.h"
#include "dispatch/promotion.h"
#include "ops/all.h"

namespace flambeau::formulas {
using namespace ops;

Tensor no_derivative(const std::string& name, const Tensor&) {
  fail<NotImplementedError>("the derivative for '", name, "' is not implemented.");
}

Tensor polygamma_of(int64_t n, const Tensor& self) {
  check(n >= 0, "polygamma(n, x) does not support negative n.");
  return n == 0 ? digamma(self) : _polygamma(self, n);
}
Tensor polygamma_next(const Tensor& self, const Scalar& n) {
  return _polygamma(self, n + Scalar(1));
}

Tensor mvlgamma_grad(const Tensor& grad, const Tensor& self, int64_t p) {
  Tensor total = digamma(self);
  for (int64_t i = 1; i < p; i++) total = total + digamma(self - 0.5 * double(i));
  return grad * total;
}

// I1' = I0 − I1/x, which is ½ at zero.
Tensor i1_grad(const Tensor& grad, const Tensor& self, const Tensor& result) {
  Tensor zero = eq(self, 0), x = masked_fill(self, zero, 1);
  return grad * masked_fill(i0(x) - result / x, zero, 0.5);
}
// (e^-|x|·I1)' = e^-|x|·I0 − (sgn(x) + 1/x)·(e^-|x|·I1)
Tensor i1e_grad(const Tensor& grad, const Tensor& self, const Tensor& result) {
  Tensor zero = eq(self, 0), x = masked_fill(self, zero, 1);
  return grad * masked_fill(special_i0e(x) - result * (sgn(x) + reciprocal(x)), zero, 0.5);
}

// log1p(other), zero where self hides its singularity.
Tensor masked_log1p(const Tensor& self, const Operand& other) {
  Tensor y = as_tensor_like(other, self);
  return masked_fill(log1p(y), logical_and(eq(self, 0), le(y, -1)), 0);
}

Tensor frexp_grad(const Tensor& grad, const Tensor& exponent) {
  return ldexp(grad, _to_dtype(neg(exponent), grad.dtype()));
}

}  // namespace flambeau::formulas
