// Gamma functions and the inverse error function, in double, one element at a time: they are far
// from the hot loops, so accuracy and small size come first.
#pragma once
#include "simd/vmath_erf.h"
#include "simd/vmath_trig.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {

FLAMBEAU_INLINE double lgamma(double x) {
  int sign;
  return __builtin_lgamma_r(x, &sign);
}

// Recurrence up to x ≥ 10, then the asymptotic series with the Bernoulli numbers B2k / 2k.
FLAMBEAU_INLINE double digamma(double x) {
  if (x == 0) return copysign(kInf<double>, -x);
  double reflected = 0;
  if (x < 0) {
    double part = x - trunc(x);
    if (part == 0 || x == -kInf<double>) return kNaN<double>;
    reflected = 3.14159265358979323846 / tan(3.14159265358979323846 * part);
    x = 1 - x;
  }
  double shifted = 0;
  for (; x < 10; x += 1) shifted += 1 / x;
  double w = 1 / (x * x);
  double series =
      w * (1. / 12 -
           w * (1. / 120 -
                w * (1. / 252 -
                     w * (1. / 240 - w * (1. / 132 - w * (691. / 32760 -
                                                          w * (1. / 12 - w * (3617. / 8160))))))));
  double r = log(x) - 0.5 / x - series;
  return (x == kInf<double> ? x : r) - shifted - reflected;
}

// Winitzki's closed form (2008), relative error 2e-3, as the start of Newton-like steps. `product`
// is (1 − y)(1 + y) for y = erf(result).
FLAMBEAU_INLINE double erfinv_start(double product) {
  double t = log(product), s = 4.33075023 + 0.5 * t;
  return sqrt(sqrt(s * s - t * (1 / 0.147)) - s);
}
// Two of Halley's steps; beyond one half the residual is taken from erfc, where 1 − y is exact.
FLAMBEAU_INLINE double erfinv(double y) {
  double a = abs(y);
  if (!(a < 1)) return a == 1 ? copysign(kInf<double>, y) : kNaN<double>;
  if (a < 1e-8) return y * 0.886226925452758013649;  // √π/2
  double r = erfinv_start((1 - a) * (1 + a));
  for (int i = 0; i < 2; i++) {
    double residual = a < 0.5 ? __builtin_erf(r) - a : (1 - a) - __builtin_erfc(r);
    double step = residual * 0.886226925452758013649 * __builtin_exp(r * r);
    r -= step / (1 + r * step);
  }
  return copysign(r, y);
}

#define FLAMBEAU_THROUGH_DOUBLE(name) \
  FLAMBEAU_INLINE float name(float x) { return float(name(double(x))); }
FLAMBEAU_THROUGH_DOUBLE(lgamma)
FLAMBEAU_THROUGH_DOUBLE(digamma)
FLAMBEAU_THROUGH_DOUBLE(erfinv)
#undef FLAMBEAU_THROUGH_DOUBLE

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
