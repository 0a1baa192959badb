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
