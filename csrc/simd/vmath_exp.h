// Exponentials, logarithms and powers. The float versions and the double exp, expm1, log, log1p are
// straight-line: Cody & Waite argument reduction (1980), minimax polynomials from a Remez exchange
// with successive rounding of the coefficients, special values by selects. Other double versions
// call libm. Names ending in _fd take and return double but carry only float accuracy (about
// 2^-34): one rounding to float at the end then gives nearly correctly rounded results.
#pragma once
#include "simd/vmath_basic.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {

#define FLAMBEAU_FLOAT  \
  template <Floating T> \
  FLAMBEAU_INLINE

// a·b + c for approximations: fused in float; in double multiply and add, which every instruction
// set vectorizes (software fma does not).
FLAMBEAU_INLINE float mad(float a, float b, float c) { return fma(a, b, c); }
FLAMBEAU_INLINE double mad(double a, double b, double c) { return a * b + c; }
// c[0] + c[1]·x + … by Horner's rule in x² over pairs, which halves the chain of dependent steps.
FLAMBEAU_FLOAT T horner_pairs(T, T, T c) { return c; }
FLAMBEAU_FLOAT T horner_pairs(T x, T, T c0, T c1) { return mad(x, c1, c0); }
template <Floating T, class... C>
FLAMBEAU_INLINE T horner_pairs(T x, T square, T c0, T c1, C... rest) {
  return mad(horner_pairs(x, square, T(rest)...), square, mad(x, c1, c0));
}
template <Floating T, class... C>
FLAMBEAU_INLINE T horner(T x, C... c) {
  return horner_pairs(x, x * x, T(c)...);
}

// c ? a : b. In float without fma by masks: a constant arm would be propagated into the emulated
// fma as a 64-bit choice, which SSE2 cannot blend, and the loop would stay scalar.
FLAMBEAU_INLINE float choose(bool c, float a, float b) {
#ifdef __FP_FAST_FMAF
  return c ? a : b;
#else
  uint32_t mask = 0u - uint32_t(c);
  return bits<float>((bits<uint32_t>(a) & mask) | (bits<uint32_t>(b) & ~mask));
#endif
}
FLAMBEAU_INLINE double choose(bool c, double a, double b) { return c ? a : b; }
// NaN passes through both comparisons.
FLAMBEAU_FLOAT T clamp(T x, T low, T high) {
  x = choose(x < low, low, x);
  return choose(x > high, high, x);
}

// 2^k from the sum of an integer k and kRoundMagic; k within the normal exponents.
FLAMBEAU_FLOAT T power_of_two(T shifted) {
  constexpr int m = kMantissaBits<T>;
  constexpr BitsOf<T> one = bits<BitsOf<T>>(T(1));
  return bits<T>((bits<BitsOf<T>>(shifted) << m) + one);
}

// x = k·ln2 + r with |r| ≤ ln2/2 and r = high + low, high exact; `shifted` is k + kRoundMagic.
template <Floating T>
struct ExpReduced {
  T k, r, high, low, shifted;
};
FLAMBEAU_INLINE ExpReduced<float> reduce_exp(float x) {
  float shifted = fma(x, 0x1.715476p0f, kRoundMagic<float>), k = shifted - kRoundMagic<float>;
  float high = fma(k, -0x1.62e430p-1f, x), low = k * 0x1.05c610p-29f;
  return {k, high + low, high, low, shifted};
}
FLAMBEAU_INLINE ExpReduced<double> reduce_exp(double x) {
  double shifted = x * 0x1.71547652b82fep0 + kRoundMagic<double>;
  double k = shifted - kRoundMagic<double>;
  double high = x - k * 0x1.62e42fefa4000p-1, low = k * 0x1.8432a1b0e2634p-43;
  return {k, high + low, high, low, shifted};
}

// e^r − 1 − high on the reduced interval.
FLAMBEAU_INLINE float expm1_tail(ExpReduced<float> x) {
  float r = x.r;
  float p = horner(r, 0x1p-1f, 0x1.555554p-3f, 0x1.5554e8p-5f, 0x1.1113a2p-7f, 0x1.6d4f4ep-10f,
                   0x1.9c787ep-13f);
  return fma(r * r, p, x.low);
}
FLAMBEAU_INLINE float exp_tail(ExpReduced<float> x) {
  float r = x.r;
  float p =
      horner(r, 0x1.fffffcp-2f, 0x1.555486p-3f, 0x1.555838p-5f, 0x1.124246p-7f, 0x1.6af4c2p-10f);
  return fma(r * r, p, x.low);
}
FLAMBEAU_INLINE double expm1_tail(ExpReduced<double> x) {
  double r = x.r;
  double p = horner(r, 0x1.0000000000001p-1, 0x1.5555555555557p-3, 0x1.5555555554cebp-5,
                    0x1.1111111110041p-7, 0x1.6c16c16f2083fp-10, 0x1.a01a01ac3cbd3p-13,
                    0x1.a019f3508bc52p-16, 0x1.71de01240c441p-19, 0x1.28026d721d49fp-22,
                    0x1.af501b10cedb9p-26, 0x1.e633d8aa54516p-30);
  return r * r * p + x.low;
}
FLAMBEAU_INLINE double exp_tail(ExpReduced<double> x) {
  double r = x.r;
  double p = horner(r, 0x1.000000000000ap-1, 0x1.55555555554f5p-3, 0x1.5555555550579p-5,
                    0x1.1111111128a5fp-7, 0x1.6c16c184df345p-10, 0x1.a01a0126d4453p-13,
                    0x1.a0199806243d9p-16, 0x1.71df29fe0830ap-19, 0x1.28af66de54c51p-22,
                    0x1.ad7d1eaa83255p-26);
  return r * r * p + x.low;
}
// e^r; the exact sum 1 + high leaves one rounding that matters (fast two-sum, Dekker 1971).
FLAMBEAU_FLOAT T exp_poly(ExpReduced<T> x) {
  T sum = T(1) + x.high, error = x.high - (sum - T(1));
  return sum + (error + exp_tail(x));
}

// p·2^k in two factors, the second of which rounds into the subnormals or to infinity.
FLAMBEAU_FLOAT T scale_two_step(T p, T k) {
  T half = k * T(0.5) + kRoundMagic<T>, rest = (k - (half - kRoundMagic<T>)) + kRoundMagic<T>;
  return p * power_of_two(half) * power_of_two(rest);
}

FLAMBEAU_INLINE float exp(float x) {
  auto reduced = reduce_exp(clamp(x, -104.0f, 89.0f));
  return scale_two_step(exp_poly(reduced), reduced.k);
}
FLAMBEAU_INLINE double exp(double x) {
  auto reduced = reduce_exp(clamp(x, -746.0, 710.0));
  return scale_two_step(exp_poly(reduced), reduced.k);
}
FLAMBEAU_INLINE float exp2(float x) {
  float c = clamp(x, -151.0f, 129.0f);
  float k = (c + kRoundMagic<float>)-kRoundMagic<float>, r = c - k;
  float p = horner(r, 0x1.62e430p-1f, 0x1.ebfbe0p-3f, 0x1.c6b058p-5f, 0x1.3b2a54p-7f,
                   0x1.5dc5acp-10f, 0x1.44178cp-13f, 0x1.b51556p-17f);
  return scale_two_step(fma(r, p, 1.0f), k);
}
// e^x for |x| < 700, float accuracy.
FLAMBEAU_INLINE double exp_fd(double x) {
  double shifted = x * 0x1.71547652b82fep0 + kRoundMagic<double>;
  double r = x - (shifted - kRoundMagic<double>)*0x1.62e42fefa39efp-1;
  double p = horner(r, 0x1.0000003bd0b30p-1, 0x1.5555543b020fbp-3, 0x1.555489e8f6c4bp-5,
                    0x1.111277c8364c9p-7, 0x1.6d90a5bd9a072p-10, 0x1.9f05ad0a57739p-13);
  return ((r * r * p + r) + 1.0) * power_of_two(shifted);
}

// 2^k·(high + tail) + (2^k − 1), where the larger part is exact for k = ±1; halved so that k = 128
// (1024) does not overflow early.
FLAMBEAU_FLOAT T expm1(T x) {
  constexpr T low = sizeof(T) == 4 ? T(-30) : T(-60), high = sizeof(T) == 4 ? T(89) : T(710);
  auto reduced = reduce_exp(clamp(x, low, high));
  T tail = expm1_tail(reduced), half = power_of_two(reduced.shifted - T(1));
  T scaled = T(2) * mad(half, tail, mad(half, reduced.high, half - T(0.5)));
  scaled = reduced.k == 0 ? reduced.high + tail : scaled;
  return x == 0 ? x : scaled;
}

// 1/(1 + e^-x) through e^-|x|, which cannot overflow and keeps the left tail. The rounding of 1 + z
// is put back to first order: 1/(1 + z) is the quotient itself or 1 minus it.
FLAMBEAU_FLOAT T sigmoid(T x) {
  T z = exp(-abs(x)), sum = T(1) + z, error = z - (sum - T(1));
  bool negative = x < 0;
  T quotient = (negative ? z : T(1)) / sum;
  return mad(-quotient * error, negative ? T(1) - quotient : quotient, quotient);
}

// x = 2^k·(1 + f), 1 + f in [√½, √2), for positive x; subnormals are scaled up first.
template <Floating T>
struct LogReduced {
  T k, f;
};
FLAMBEAU_INLINE LogReduced<float> reduce_log_normal(float x) {
  uint32_t u = bits<uint32_t>(x) - 0x3f3504f3u;
  float m = bits<float>((u & 0x7fffffu) + 0x3f3504f3u);
  return {float(int32_t(u) >> 23), m - 1.0f};
}
FLAMBEAU_INLINE LogReduced<double> reduce_log_normal(double x) {
  // The exponent stays an unsigned field that becomes a double by or-ing it into 2^52: no 64-bit
  // arithmetic shift or conversion, which old instruction sets lack.
  uint64_t u = bits<uint64_t>(x) + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
  double k = bits<double>((u >> 52) | 0x4330000000000000u) - (0x1p52 + 1023);
  double m = bits<double>((u & 0xfffffffffffffu) + 0x3fe6a09e667f3bcdu);
  return {k, m - 1.0};
}
FLAMBEAU_FLOAT LogReduced<T> reduce_log(T x) {
  constexpr T least = sizeof(T) == 4 ? T(0x1p-126) : T(0x1p-1022);
  bool tiny = x < least;
  auto [k, f] = reduce_log_normal(tiny ? x * T(0x1p54) : x);
  return {tiny ? k - T(54) : k, f};
}
// log(0) = −∞, log(negative) = NaN, log(∞) = ∞.
FLAMBEAU_FLOAT T log_special(T x, T r) {
  r = x < kInf<T> ? r : x;
  r = x < 0 ? kNaN<T> : r;
  return x == 0 ? -kInf<T> : r;
}
// log(1 + f) − f on [√½ − 1, √2 − 1].
FLAMBEAU_INLINE float log1p_tail(float f) {
  float w = f * f;
  float p = horner(f, 0x1.555554p-2f, -0x1.000234p-2f, 0x1.99a052p-3f, -0x1.546ea2p-3f,
                   0x1.22d056p-3f, -0x1.0da0cep-3f, 0x1.05b1e0p-3f, -0x1.38fabep-4f);
  return fma(w * f, p, -0.5f * w);
}
// The same with log(1 + f) = 2·atanh(s), s = f/(2 + f): log(1 + f) = f − f²/2 + s·(f²/2 + R(s²)).
FLAMBEAU_INLINE double log1p_tail(double f) {
  double s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
  double p = z * horner(z, 0x1.5555555555595p-1, 0x1.999999997ef99p-2, 0x1.24924942c7ef4p-2,
                        0x1.c71c514f6b4edp-3, 0x1.74666744ce6eap-3, 0x1.399d7309b3c46p-3,
                        0x1.2f328db4e3e51p-3);
  return s * (half + p) - half;
}
FLAMBEAU_INLINE float add_log_scale(float k, float f, float tail) {
  return fma(k, 0x1.62e430p-1f, fma(k, -0x1.05c610p-29f, tail) + f);
}
FLAMBEAU_INLINE double add_log_scale(double k, double f, double tail) {
  return k * 0x1.62e42fefa4000p-1 + ((tail - k * 0x1.8432a1b0e2634p-43) + f);
}

FLAMBEAU_FLOAT T log(T x) {
  auto [k, f] = reduce_log(x);
  return log_special(x, add_log_scale(k, f, log1p_tail(f)));
}
FLAMBEAU_INLINE float log2(float x) {
  auto [k, f] = reduce_log(x);
  float low = fma(f, 0x1.4ae0c0p-26f, log1p_tail(f) * 0x1.715476p0f);
  return log_special(x, fma(f, 0x1.715476p0f, low) + k);
}
FLAMBEAU_INLINE float log10(float x) {
  auto [k, f] = reduce_log(x);
  float low = fma(log1p_tail(f), 0x1.bcb7b2p-2f, k * -0x1.ec10c0p-27f);
  low = fma(f, -0x1.5b235ep-27f, low);
  return log_special(x, fma(k, 0x1.344136p-2f, fma(f, 0x1.bcb7b2p-2f, low)));
}

// 1 + x = 2^k·(1 + f): f = x·2^-k + (2^-k − 1) keeps the low bits of x. The scale is split so that
// it stays normal for the largest x.
FLAMBEAU_FLOAT LogReduced<T> reduce_log1p(T x) {
  constexpr T tiny = sizeof(T) == 4 ? T(0x1p-25) : T(0x1p-54);
  T k = reduce_log_normal(x + T(1)).k;
  T scale = power_of_two((T(2) - k) + kRoundMagic<T>);  // 4·2^-k
  T f = mad(x * T(0.25), scale, T(0.25) * scale - T(1));
  return {k, abs(x) < tiny ? x : f};
}
FLAMBEAU_FLOAT T log1p(T x) {
  auto [k, f] = reduce_log1p(x);
  T r = add_log_scale(k, f, log1p_tail(f));
  r = x < kInf<T> ? r : x;
  r = x < T(-1) ? kNaN<T> : r;
  r = x == T(-1) ? -kInf<T> : r;
  return x == 0 ? x : r;
}

// log(2^k·(1 + f)) and log1p at float accuracy.
FLAMBEAU_INLINE double log_fd(double k, double f) {
  double s = f / (2.0 + f), z = s * s;
  double p = horner(z, 0x1.5555555623e45p-1, 0x1.999996986f744p-2, 0x1.2494199e251b3p-2,
                    0x1.c6285c056168ap-3, 0x1.913f8b913b527p-3);
  return k * 0x1.62e42fefa39efp-1 + (s * z * p + (s + s));
}
FLAMBEAU_INLINE double log1p_fd(double x) {
  auto [k, f] = reduce_log1p(x);
  return log_fd(k, f);
}

#define FLAMBEAU_LIBM(name) \
  FLAMBEAU_INLINE double name(double x) { return __builtin_##name(x); }
FLAMBEAU_LIBM(exp2)
FLAMBEAU_LIBM(log2)
FLAMBEAU_LIBM(log10)

FLAMBEAU_INLINE double pow(double a, double b) { return __builtin_pow(a, b); }
// 2^(b·log2|a|) in double, then C99's special cases as selects.
FLAMBEAU_INLINE float pow(float a, float b) {
  float m = abs(a);
  auto [k, f] = reduce_log(m);
  double magnitude = clamp(double(b) * log_fd(k, f), -120.0, 120.0);
  float r = float(exp_fd(magnitude));
  bool integer = trunc(b) == b, odd = integer & (trunc(b * 0.5f) != b * 0.5f);
  // |a| of 0, 1 or infinity needs no logarithm; NaN in b passes through the clamp.
  bool grows = (m > 1.0f) == (b > 0.0f);
  float limit = grows ? kInf<float> : 0.0f;
  r = (m == 0) | (m == kInf<float>) | (abs(b) == kInf<float>) ? limit : r;
  r = a < 0 && !integer && m != kInf<float> ? kNaN<float> : r;
  r = odd ? flip_sign(r, a) : r;
  r = (m == 1.0f) & ((abs(b) == kInf<float>) | (a > 0)) ? 1.0f : r;
  r = (a != a) | (b != b) ? a + b : r;
  return (b == 0) | (a == 1.0f) ? 1.0f : r;
}

#undef FLAMBEAU_FLOAT

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
