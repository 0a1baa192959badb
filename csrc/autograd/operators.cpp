#include "dispatch/operators.h"

#include "dispatch/promotion.h"
#include "ops/all.h"

namespace flambeau {

Tensor operator+(const Tensor& a, const Operand& b) { return ops::add(a, b, 1); }
Tensor operator-(const Tensor& a, const Operand& b) { return ops::sub(a, b, 1); }
Tensor operator*(const Tensor& a, const Operand& b) { return ops::mul(a, b); }
Tensor operator/(const Tensor& a, const Operand& b) { return ops::div(a, b); }
Tensor operator-(const Tensor& a) { return ops::neg(a); }
Tensor reciprocal_times(const Tensor& b, const Scalar& a) {
  return ops::mul(ops::reciprocal(b), Operand(a));
}

}  // namespace flambeau
