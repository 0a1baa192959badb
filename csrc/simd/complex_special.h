// Functions of complex numbers that only pointwise operators use.
#pragma once
#include "simd/complex.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {

template <Floating T>
FLAMBEAU_INLINE Complex<T> sinc(Complex<T> z) {
  Complex<T> angle = {z.re * T(3.14159265358979323846), z.im * T(3.14159265358979323846)};
  return (z.re == 0) & (z.im == 0) ? Complex<T>(1) : sin(angle) / angle;
}

// The term of larger magnitude leaves the sum of exponentials; of two infinite real parts of one
// sign only that is known.
template <Floating T>
FLAMBEAU_INLINE Complex<T> logaddexp(Complex<T> a, Complex<T> b) {
  if (isnan(a) | isnan(b)) return {kNaN<T>, kNaN<T>};
  Complex<T> high = a.re < b.re ? b : a, low = a.re < b.re ? a : b;
  if (isinf(high.re) & (high.re == low.re)) return high.re < 0 ? high : log(exp(a) + exp(b));
  return high + log1p(exp(low - high));
}

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
