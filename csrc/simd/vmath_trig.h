// Trigonometric and hyperbolic functions. The float versions and the double tanh are straight-line.
// Polynomials are minimax fits (Remez exchange); float arguments of every size are reduced exactly
// by Payne & Hanek's method (1983), arranged for doubles.
#pragma once
#include "simd/vmath_exp.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {

// x = (n + a)·π/2 with |a| ≤ ½ (a little more near ties); n mod 4 in `quadrant`.
struct TrigReduced {
  double a;
  uint32_t quadrant;
};
// |x| is scaled below 2^50 by 2^-27g; 2/π·2^27g without its multiples of 4, which cannot matter as
// the scaled x is then an integer, comes in three pieces whose products with 24 bits are exact
// (the last: to 2^-57, where no float comes closer than 2^-32 to a multiple of π/2).
FLAMBEAU_INLINE TrigReduced reduce_trig(float x) {
  double m = abs(x);
  bool g1 = m >= 0x1p50, g2 = m >= 0x1p77, g3 = m >= 0x1p104;
  double c1 = 0x1.45f306e000000p-1, c2 = -0x1.b1bbeb0000000p-32, c3 = 0x1.4fe13abe8fa9ap-59;
  double scale = 1.0;
  c1 = g1 ? -0x1.1b1bbec000000p-1 : c1;
  c2 = g1 ? 0x1.29fc274000000p-29 : c2;
  c3 = g1 ? 0x1.7d1f534ddc0dbp-57 : c3;
  scale = g1 ? 0x1p-27 : scale;
  c1 = g2 ? 0x1.4a7f09e000000p+0 : c1;
  c2 = g2 ? -0x1.4170564000000p-29 : c2;
  c3 = g2 ? -0x1.911f924eb5336p-57 : c3;
  scale = g2 ? 0x1p-54 : scale;
  c1 = g3 ? -0x1.505c15a000000p+0 : c1;
  c2 = g3 ? 0x1.377036c000000p-29 : c2;
  c3 = g3 ? 0x1.8a5664f10e410p-57 : c3;
  scale = g3 ? 0x1p-81 : scale;
  double y = m * scale, p1 = y * c1, p2 = y * c2;
  p1 = p1 - ((p1 + 0x1.8p54) - 0x1.8p54);  // drop multiples of 4
  double shifted = (p1 + p2) + kRoundMagic<double>;
  double a = ((p1 - (shifted - kRoundMagic<double>)) + p2) + y * c3;
  return {a, uint32_t(bits<uint64_t>(shifted))};
}

// sin and cos of a·π/2.
struct SinCos {
  float sin, cos;
};
FLAMBEAU_INLINE SinCos sincos_reduced(double a) {
  float r = float(a * 0x1.921fb54442d18p0), z = r * r;
  float s = horner(z, -0x1.555546p-3f, 0x1.110776p-7f, -0x1.995282p-13f);
  float c = horner(z, 0x1.55554ap-5f, -0x1.6c0c26p-10f, 0x1.99e714p-16f);
  return {fma(r * z, s, r), fma(z, fma(z, c, -0.5f), 1.0f)};
}
FLAMBEAU_INLINE float negate_if(float x, uint32_t sign_bit) {
  return bits<float>(bits<uint32_t>(x) ^ sign_bit);
}

FLAMBEAU_INLINE float sin(float x) {
  auto [a, quadrant] = reduce_trig(x);
  auto [s, c] = sincos_reduced(a);
  float r = quadrant & 1 ? c : s;
  r = negate_if(r, (quadrant << 30 & 0x80000000u) ^ (bits<uint32_t>(x) & 0x80000000u));
  return x == 0 ? x : r;
}
FLAMBEAU_INLINE float cos(float x) {
  auto [a, quadrant] = reduce_trig(x);
  auto [s, c] = sincos_reduced(a);
  return negate_if(quadrant & 1 ? s : c, (quadrant + 1) << 30 & 0x80000000u);
}
FLAMBEAU_INLINE float tan(float x) {
  auto [a, quadrant] = reduce_trig(x);
  double r = a * 0x1.921fb54442d18p0, z = r * r;
  double s = r + r * z *
                     horner(z, -0x1.5555554c97709p-3, 0x1.1111087ce3d31p-7, -0x1.a00f88f5c18fap-13,
                            0x1.6cd35d59ee5d1p-19);
  double c = 1.0 - 0.5 * z +
             z * z *
                 horner(z, 0x1.5555554ebe50dp-5, -0x1.6c16b80d17970p-10, 0x1.a010cbd5681f8p-16,
                        -0x1.241ab5d809fa5p-22);
  bool odd = quadrant & 1;
  float ratio = float((odd ? -c : s) / (odd ? s : c));
  return x == 0 ? x : flip_sign(ratio, x);
}

FLAMBEAU_INLINE float asin_poly(float z) {
  return horner(z, 0x1.5555cap-3f, 0x1.330162p-4f, 0x1.748b78p-5f, 0x1.8ba492p-6f, 0x1.59dd62p-5f);
}
// Beyond ½: asin(x) = π/2 − 2·asin(√((1 − x)/2)).
FLAMBEAU_INLINE float asin(float x) {
  float a = abs(x);
  bool far = a > 0.5f;
  float z = far ? fma(a, -0.5f, 0.5f) : a * a, s = far ? sqrt(z) : a;
  float tail = s * z * asin_poly(z);
  float outer = fma(-2.0f, s, 0x1.921fb6p0f) + fma(-2.0f, tail, -0x1.777a5cp-25f);
  return copysign(far ? outer : s + tail, x);
}
FLAMBEAU_INLINE float acos(float x) {
  float a = abs(x);
  bool far = a > 0.5f;
  float z = far ? fma(a, -0.5f, 0.5f) : a * a, s = far ? sqrt(z) : x;
  float t = fma(s * z, asin_poly(z), s);
  float outer = x < 0 ? fma(-2.0f, t, 0x1.921fb6p1f) : 2.0f * t;
  return far ? outer : 0x1.921fb6p0f - (t + 0x1.777a5cp-25f);
}

// atan on [0, 1].
FLAMBEAU_INLINE float atan_unit(float t) {
  float z = t * t;
  float p = horner(z, -0x1.5554e6p-2f, 0x1.997aeap-3f, -0x1.231bcap-3f, 0x1.b56bc6p-4f,
                   -0x1.368634p-4f, 0x1.64d848p-5f, -0x1.0fbb22p-6f, 0x1.860314p-9f);
  return fma(t * z, p, t);
}
FLAMBEAU_INLINE float atan(float x) {
  float a = abs(x);
  bool far = a > 1.0f;
  float r = atan_unit(far ? 1.0f / a : a);
  return copysign(far ? 0x1.921fb6p0f - (r + 0x1.777a5cp-25f) : r, x);
}
FLAMBEAU_INLINE float atan2(float y, float x) {
  float ax = abs(x), ay = abs(y);
  bool steep = ay > ax;
  float low = steep ? ax : ay, high = steep ? ay : ax;
  float t = low / high;
  t = low == high ? 1.0f : t;  // also ∞/∞
  t = high == 0 ? 0.0f : t;
  float r = atan_unit(t);
  r = steep ? 0x1.921fb6p0f - (r + 0x1.777a5cp-25f) : r;
  r = signbit(x) ? 0x1.921fb6p1f - (r + 0x1.777a5cp-24f) : r;
  return (x != x) | (y != y) ? x + y : copysign(r, y);
}

FLAMBEAU_INLINE float sinh(float x) {
  double a = clamp(double(abs(x)), 0.0, 100.0), z = a * a, e = exp_fd(a);
  double small = a + a * z *
                         horner(z, 0x1.5555551831395p-3, 0x1.111136244db9cp-7,
                                0x1.9ffe11ec9bae0p-13, 0x1.7a267b0960490p-19);
  return flip_sign(float(a < 1.0 ? small : 0.5 * (e - 1.0 / e)), x);
}
FLAMBEAU_INLINE float cosh(float x) {
  double e = exp_fd(clamp(double(abs(x)), 0.0, 100.0));
  return float(0.5 * (e + 1.0 / e));
}
// Near zero a polynomial, further out 1 − 2/(e^2x + 1).
FLAMBEAU_INLINE float tanh(float x) {
  float a = abs(x), z = a * a;
  float p =
      horner(z, -0x1.555534p-2f, 0x1.11075ep-3f, -0x1.b842c4p-5f, 0x1.524c40p-6f, -0x1.767a14p-8f);
  float small = fma(a * z, p, a);
  auto reduced = reduce_exp(2.0f * choose(a > 10.0f, 10.0f, a));
  float large = 1.0f - 2.0f / fma(exp_poly(reduced), power_of_two(reduced.shifted), 1.0f);
  return copysign(a < 0.625f ? small : large, x);
}
// With q = e^2x − 1: q/(q + 2) near zero, 1 − 2/(q + 2) further out, one division for both.
FLAMBEAU_INLINE double tanh(double x) {
  double a = abs(x), q = expm1(2.0 * (a > 22.0 ? 22.0 : a));
  double sum = q + 2.0, error = q - (sum - 2.0);
  bool far = a > 0.5;
  double ratio = (far ? 2.0 : q) / sum;
  double near = ratio - ratio * error * (0.5 - 0.5 * ratio);  // with the rounding of q + 2 put back
  return copysign(far ? 1.0 - ratio : near, x);
}

FLAMBEAU_INLINE float asinh(float x) {
  double a = abs(x), s = a * a;
  double r = log1p_fd(a + s / (1.0 + sqrt(s + 1.0)));
  return a < kInf<double> ? flip_sign(float(r), x) : x;
}
FLAMBEAU_INLINE float acosh(float x) {
  double t = double(x) - 1.0;
  double r = log1p_fd(t + sqrt(t * (double(x) + 1.0)));
  return x < kInf<float> ? (x < 1.0f ? kNaN<float> : float(r)) : x;
}
FLAMBEAU_INLINE float atanh(float x) {
  double a = abs(x);
  float r = float(0.5 * log1p_fd((a + a) / (1.0 - a)));
  r = a == 1.0 ? kInf<float> : r;
  r = a > 1.0 ? kNaN<float> : r;
  return flip_sign(r, x);
}

FLAMBEAU_LIBM(sin)
FLAMBEAU_LIBM(cos)
FLAMBEAU_LIBM(tan)
FLAMBEAU_LIBM(asin)
FLAMBEAU_LIBM(acos)
FLAMBEAU_LIBM(atan)
FLAMBEAU_LIBM(sinh)
FLAMBEAU_LIBM(cosh)
FLAMBEAU_LIBM(asinh)
FLAMBEAU_LIBM(acosh)
FLAMBEAU_LIBM(atanh)
#undef FLAMBEAU_LIBM
FLAMBEAU_INLINE double atan2(double y, double x) { return __builtin_atan2(y, x); }

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
