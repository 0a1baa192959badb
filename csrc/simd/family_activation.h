// What only the expressions of _ops/activation.py call.
#pragma once
#include "simd/vmath.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {

// Φ(x), and e^(-x²/2), without which no gradient comes. The tail is that exponential times a smooth
// function, 1/(a + c) times a polynomial in (a - c)/(a + c): Shepherd & Laframboise (1981). Minimax
// fit to 2^-27; beyond 13 the tail is zero.
struct NormalParts {
  float below, bell;
};
FLAMBEAU_INLINE NormalParts normal_parts(float x) {
  const float far = abs(x), a = choose(far > 13.0f, 13.0f, far);
  const float inverse = 1.0f / (a + 4.25f), t = (a - 4.25f) * inverse;
  const float smooth =
      horner(t, 0x1.84e44ap-1f, -0x1.401104p-1f, 0x1.ac43dep-2f, -0x1.c39d3ep-3f, 0x1.5d4518p-4f,
             -0x1.3d5aaap-6f, -0x1.8801dep-11f, 0x1.1f2114p-9f, -0x1.8025eep-12f, -0x1.f21ccep-13f);
  const float square = a * a, lost = fma(a, a, -square);
  ExpReduced<float> reduced = reduce_exp(square * -0.5f);
  reduced.low = fma(lost, -0.5f, reduced.low);
  float bell = (1.0f + (reduced.high + exp_tail(reduced))) * power_of_two(reduced.shifted);
  bell = choose(far > 13.0f, 0.0f, bell);
  const float tail = bell * (smooth * inverse);
  return {choose(x < 0.0f, tail, 1.0f - tail), bell};
}

FLAMBEAU_INLINE float gelu_exact(float x) { return x * normal_parts(x).below; }
FLAMBEAU_INLINE double gelu_exact(double x) {
  return x * 0.5 * (1.0 + erf(x * 0.70710678118654752440));
}
FLAMBEAU_INLINE float gelu_slope(float x) {
  const NormalParts n = normal_parts(x);
  return n.below + x * n.bell * 0.398942280401432677940f;
}
FLAMBEAU_INLINE double gelu_slope(double x) {
  return 0.5 * (1.0 + erf(x * 0.70710678118654752440)) +
         x * exp(x * x * -0.5) * 0.39894228040143267794;
}

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
