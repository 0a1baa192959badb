// The scaled complementary error function, the normal distribution and entropy. Computed in double,
// straight-line.
#pragma once
#include "simd/vmath_chebyshev.h"
#include "simd/vmath_special_tables.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {

// x² = high² + rest with high² exact.
struct Square {
  double high, rest;
};
FLAMBEAU_INLINE Square split_square(double x) {
  double head = bits<double>(bits<uint64_t>(x) & ~uint64_t(0x7ffffff));
  return {head * head, (x - head) * (x + head)};
}
// e^(sign·x²/divisor); the rounding of x² would cost all digits of a tail.
FLAMBEAU_INLINE double exp_of_square(double x, double factor) {
  double a = abs(x);
  auto [high, rest] = split_square(a > 100 ? 100.0 : a);  // 0 or infinity there
  double d = rest * factor;
  return exp(high * factor) * (1 + (d + 0.5 * d * d));
}
// erfcx of a ≥ 0: (1 + 2a)·erfcx(a) in (a − 2)/(a + 2) (Shepherd & Laframboise 1981).
FLAMBEAU_INLINE double erfcx_positive(double a) {
  double t = a < 0x1p60 ? (a - 2) / (a + 2) : 1.0;
  return chebyshev_sum(kErfcx, t) / (1 + 2 * a);
}
FLAMBEAU_INLINE double erfcx(double x) {
  double r = erfcx_positive(abs(x));
  r = x < 0 ? 2 * exp_of_square(x, 1) - r : r;
  return x != x ? x : r;
}
// Φ(−a) for a ≥ 0.
FLAMBEAU_INLINE double normal_tail(double a) {
  return 0.5 * erfcx_positive(a * 0.707106781186547524401) * exp_of_square(a, -0.5);
}
FLAMBEAU_INLINE double ndtr(double x) {
  double tail = normal_tail(abs(x));
  tail = x < 0 ? tail : 1 - tail;
  return x != x ? x : tail;
}
// log Φ(x) without the exponential on the left.
FLAMBEAU_INLINE double log_normal_cdf(double x) {
  double scaled = 0.5 * erfcx_positive(abs(x) * 0.707106781186547524401);
  double left = log(scaled) - 0.5 * x * x;
  double right = log1p(-scaled * exp_of_square(x, -0.5));
  double r = x > 0 ? right : left;
  return x != x ? x : r;
}
// In the middle odd in p − ½; in the tails r·f(r) for r = √(−2·log p).
FLAMBEAU_INLINE double normal_quantile(double p) {
  double s = p - 0.5, q = s > 0 ? 1 - p : p;
  double middle = s * chebyshev_sum(kNdtriCentral, s * s * (128.0 / 9) - 1);
  double r = sqrt(-2 * log(q));
  double near = chebyshev_sum(kNdtriTail, (r - 5) * (1.0 / 3));
  // 1/r from 1/39 to 1/8
  double far = chebyshev_sum(kNdtriFar, (1 / r - 47.0 / 624) * (624.0 / 31));
  double tail = flip_sign(r * (r > 8 ? far : near), s);
  double x = abs(s) <= 0.375 ? middle : tail;
  x = p == 0 ? -kInf<double> : x;
  x = p == 1 ? kInf<double> : x;
  return (p >= 0) & (p <= 1) ? x : kNaN<double>;
}
template <Floating T>
FLAMBEAU_INLINE T entr(T x) {
  T r = -x * log(x);
  r = x == 0 ? T(0) : r;
  return x < 0 ? -kInf<T> : r;
}

FLAMBEAU_THROUGH_DOUBLE(erfcx)
FLAMBEAU_THROUGH_DOUBLE(ndtr)
FLAMBEAU_THROUGH_DOUBLE(log_normal_cdf)
FLAMBEAU_THROUGH_DOUBLE(normal_quantile)

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
