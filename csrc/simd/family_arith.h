// What only the expressions of _ops/arith.py call.
#pragma once
#include "simd/complex.h"
#include "simd/vmath_phase.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {

template <Floating T>
FLAMBEAU_INLINE T normalized_sinc(T x) {
  double a = x;
  T r = T(phase_pi(a).sin / (a * 3.14159265358979323846));
  return x == 0 ? T(1) : r;
}
template <Floating T>
FLAMBEAU_INLINE Complex<T> normalized_sinc(Complex<T> z) {
  Complex<T> angle = z * T(3.14159265358979323846);
  return z == Complex<T>(0) ? Complex<T>(1) : sin(angle) / angle;
}
// log(x/(1 − x)), with what the rounding of the quotient loses: near ½ that is all of the
// logarithm.
template <Floating T>
FLAMBEAU_INLINE T logit(T x) {
  const T rest = T(1) - x, quotient = x / rest;
  const T lost = fma(-quotient, rest, x) - quotient * ((T(1) - rest) - x);
  const T r = log(quotient);
  return isinf(r) ? r : r + lost / x;
}
// By a real number part by part: a product of complex numbers would make NaN of infinity times 0.
template <class T>
FLAMBEAU_INLINE T scaled(T x, T alpha) {
  if constexpr (std::is_same_v<T, bool>)
    return alpha && x;
  else
    return T(alpha * x);
}
template <Floating T>
FLAMBEAU_INLINE Complex<T> scaled(Complex<T> z, Complex<T> alpha) {
  return alpha.im == 0 ? Complex<T>(alpha.re * z.re, alpha.re * z.im) : alpha * z;
}
// The one with the larger real part goes outside, so that the exponential stays small.
template <Floating T>
FLAMBEAU_INLINE Complex<T> logaddexp(Complex<T> a, Complex<T> b) {
  bool swap = a.re < b.re;
  Complex<T> high = swap ? b : a, low = swap ? a : b;
  if (isinf(high.re) && a.re == b.re) return high.re > 0 ? log(exp(a) + exp(b)) : high;
  return high + log1p(exp(low - high));
}

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
