// What only the expressions of _ops/activation.py call.
#pragma once
#include "simd/vmath.h"
#include "simd/vmath_normal.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {

// Φ(−|x|), and e^(-x²/2), without which no gradient comes. The tail is that exponential times a
// smooth function, 1/(a + c) times a polynomial in (a - c)/(a + c): Shepherd & Laframboise (1981).
// Minimax fit to 2^-23. At kEnd the power of two in the exponential is 2^-127, which is 0 here, and
// so are both numbers from there on.
struct NormalParts {
  float size, tail, bell;
};
FLAMBEAU_INLINE NormalParts normal_parts(float x) {
  constexpr float kEnd = 13.27f;
  const float far = abs(x), a = kEnd < far ? kEnd : far;
  const float inverse = 1.0f / (a + 4.25f), t = fma(-8.5f, inverse, 1.0f);
  const float smooth = horner(t, 0x1.84e44ep-1f, -0x1.40110ap-1f, 0x1.ac4222p-2f, -0x1.c39a5ep-3f,
                              0x1.5d9504p-4f, -0x1.3d98e6p-6f, -0x1.10e68ep-10f, 0x1.13fd20p-9f);
  const float square = a * a, lost = fma(a, a, -square);
  ExpReduced<float> reduced = reduce_exp(square * -0.5f);
  reduced.low = fma(lost, -0.5f, reduced.low);
  const float bell = (1.0f + (reduced.high + exp_tail(reduced))) * power_of_two(reduced.shifted);
  return {a, bell * (smooth * inverse), bell};
}

// x·Φ(x) = max(x, 0) − |x|·Φ(−|x|); of −∞ it is NaN, as in PyTorch
FLAMBEAU_INLINE float gelu_exact(float x) {
  const NormalParts n = normal_parts(x);
  return fma(-n.size, n.tail, x < 0.0f ? x * 0.0f : x);
}
FLAMBEAU_INLINE double gelu_exact(double x) { return x * ndtr(x); }
FLAMBEAU_INLINE float gelu_slope(float x) {
  const NormalParts n = normal_parts(x);
  return (x < 0.0f ? n.tail : 1.0f - n.tail) + x * n.bell * 0.398942280401432677940f;
}
FLAMBEAU_INLINE double gelu_slope(double x) {
  return ndtr(x) + x * exp_of_square(x, -0.5) * 0.398942280401432677940;
}

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
