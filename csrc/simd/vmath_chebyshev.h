// Chebyshev sums without a loop, so that the pointwise loops around them vectorize.
#pragma once
#include <utility>

#include "simd/vmath_exp.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {

// Clenshaw's recurrence (1955) for the sum of c[k]·T_k(u), written out.
template <size_t N, size_t... I>
FLAMBEAU_INLINE double chebyshev_sum(const double (&c)[N], double u, std::index_sequence<I...>) {
  double twice = u + u, b1 = c[N - 1], b2 = 0;
  auto step = [&](double next) __attribute__((always_inline)) {
    double b0 = (twice * b1 + next) - b2;
    b2 = b1;
    b1 = b0;
  };
  (step(c[N - 2 - I]), ...);
  return (u * b1 + c[0]) - b2;
}
template <size_t N>
FLAMBEAU_INLINE double chebyshev_sum(const double (&c)[N], double u) {
  return chebyshev_sum(c, u, std::make_index_sequence<N - 2>());
}

// The values of f, which takes a double, for float arguments.
#define FLAMBEAU_THROUGH_DOUBLE(name) \
  FLAMBEAU_INLINE float name(float x) { return float(name(double(x))); }

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
