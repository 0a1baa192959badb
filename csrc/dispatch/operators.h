// C++ operators on tensors, for formulas and composites. Included at the end of the generated
// ops/all.h.
#pragma once
#include "core/tensor.h"

namespace flambeau {

Tensor operator+(const Tensor& a, const Operand& b);
Tensor operator-(const Tensor& a, const Operand& b);
Tensor operator*(const Tensor& a, const Operand& b);
Tensor operator/(const Tensor& a, const Operand& b);
Tensor operator-(const Tensor& a);
template <class T>
  requires std::is_arithmetic_v<T>
Tensor operator+(T a, const Tensor& b) {
  return b + Operand(a);
}
template <class T>
  requires std::is_arithmetic_v<T>
Tensor operator*(T a, const Tensor& b) {
  return b * Operand(a);
}
template <class T>
  requires std::is_arithmetic_v<T>
Tensor operator-(T a, const Tensor& b) {
  return -b + Operand(a);
}
Tensor reciprocal_times(const Tensor& b, const Scalar& a);
template <class T>
  requires std::is_arithmetic_v<T>
Tensor operator/(T a, const Tensor& b) {
  return reciprocal_times(b, Scalar(a));
}
inline Tensor operator*(const Scalar& a, const Tensor& b) { return b * Operand(a); }
inline Tensor operator-(const Scalar& a, const Tensor& b) { return -b + Operand(a); }
inline Tensor operator+(const Scalar& a, const Tensor& b) { return b + Operand(a); }

}  // namespace flambeau
