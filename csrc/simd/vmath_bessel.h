// Bessel functions of orders 0 and 1 and the Airy function, computed in double from the tables of
// vmath_special_tables.h. All float versions are straight-line; of the double ones only those whose
// argument is an angle of any size (J, Y, spherical) call libm's sin and cos.
#pragma once
#include "simd/vmath_chebyshev.h"
#include "simd/vmath_phase.h"
#include "simd/vmath_special_tables.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {

inline constexpr double kOneOverPi = 0.318309886183790671538;

// ---- modified functions of the first kind
// e^-x·I0(x) and e^-x·I1(x)/x in u = x/4 − 1 up to 8, √x·e^-x·I(x) in 16/x − 1 beyond.
FLAMBEAU_INLINE double bessel_i0e(double x) {
  double a = abs(x);
  double near = chebyshev_sum(kI0eNear, a * 0.25 - 1);
  double far = chebyshev_sum(kI0eFar, 16 / a - 1) / sqrt(a);
  return a > 8 ? far : near;
}
FLAMBEAU_INLINE double bessel_i1e(double x) {
  double a = abs(x);
  double near = a * chebyshev_sum(kI1eNear, a * 0.25 - 1);
  double far = chebyshev_sum(kI1eFar, 16 / a - 1) / sqrt(a);
  return flip_sign(a > 8 ? far : near, x);
}
// e^x in two factors: I overflows later than e^x does.
FLAMBEAU_INLINE double bessel_i0(double x) {
  double half = exp(abs(x) * 0.5);
  return half * bessel_i0e(x) * half;
}
FLAMBEAU_INLINE double bessel_i1(double x) {
  double half = exp(abs(x) * 0.5);
  return half * bessel_i1e(x) * half;
}

// ---- modified functions of the second kind
// Up to 2 the logarithm apart and functions of x², beyond √x·e^x·K(x) in 4/x − 1. Zero gives
// infinity, a negative argument NaN.
FLAMBEAU_INLINE double bessel_k_special(double x, double r) {
  r = x < 0 ? kNaN<double> : r;
  return x == 0 ? kInf<double> : r;
}
FLAMBEAU_INLINE double bessel_k0_near(double x) {
  double u = 0.5 * x * x - 1;
  return chebyshev_sum(kK0Near, u) -
         (log(x) - 0.693147180559945309417) * chebyshev_sum(kI0Small, u);
}
FLAMBEAU_INLINE double bessel_k1_near(double x) {
  double u = 0.5 * x * x - 1;
  double regular = x * chebyshev_sum(kI1Small, u);
  return chebyshev_sum(kK1Near, u) / x + (log(x) - 0.693147180559945309417) * regular;
}
FLAMBEAU_INLINE double bessel_k0e(double x) {
  double far = chebyshev_sum(kK0Far, 4 / x - 1) / sqrt(x);
  far = x == kInf<double> ? 0.0 : far;
  return bessel_k_special(x, x <= 2 ? bessel_k0_near(x) * exp(x) : far);
}
FLAMBEAU_INLINE double bessel_k1e(double x) {
  double far = chebyshev_sum(kK1Far, 4 / x - 1) / sqrt(x);
  far = x == kInf<double> ? 0.0 : far;
  return bessel_k_special(x, x <= 2 ? bessel_k1_near(x) * exp(x) : far);
}
FLAMBEAU_INLINE double bessel_k0(double x) {
  double far = exp(-x) * chebyshev_sum(kK0Far, 4 / x - 1) / sqrt(x);
  return bessel_k_special(x, x <= 2 ? bessel_k0_near(x) : far);
}
FLAMBEAU_INLINE double bessel_k1(double x) {
  double far = exp(-x) * chebyshev_sum(kK1Far, 4 / x - 1) / sqrt(x);
  return bessel_k_special(x, x <= 2 ? bessel_k1_near(x) : far);
}

// ---- Bessel functions
// Up to 8 by functions of x² from which the two zeros are divided (each subtracted in two parts),
// beyond by Hankel's amplitudes P and Q with the phase x − (2n + 1)·π/4.
FLAMBEAU_INLINE double bessel_j0_near(double a) {
  double z1 = ((a - 0x1.33d152e971b40p+1) + 0x1.0f539d7da258ep-53) * (a + 0x1.33d152e971b40p+1);
  double z2 = ((a - 0x1.6148f5b2c2e45p+2) - 0x1.75054cd60a517p-54) * (a + 0x1.6148f5b2c2e45p+2);
  return chebyshev_sum(kJ0Near, a * a * 0.03125 - 1) * z1 * z2;
}
FLAMBEAU_INLINE double bessel_j1_near(double a) {
  double z1 = ((a - 0x1.ea75575af6f09p+1) + 0x1.60155a9d1b256p-53) * (a + 0x1.ea75575af6f09p+1);
  double z2 = ((a - 0x1.c0ff5f3b47250p+2) + 0x1.b226d9d243827p-54) * (a + 0x1.c0ff5f3b47250p+2);
  return chebyshev_sum(kJ1Near, a * a * 0.03125 - 1) * a * z1 * z2;
}
struct Amplitude {
  double p, q;
};
FLAMBEAU_INLINE Amplitude bessel_far0(double a) {
  double w = 8 / a, u = 2 * w * w - 1, scale = sqrt(kOneOverPi / a);
  return {chebyshev_sum(kP0, u) * scale, chebyshev_sum(kQ0, u) / a * scale};
}
FLAMBEAU_INLINE Amplitude bessel_far1(double a) {
  double w = 8 / a, u = 2 * w * w - 1, scale = sqrt(kOneOverPi / a);
  return {chebyshev_sum(kP1, u) * scale, chebyshev_sum(kQ1, u) / a * scale};
}
FLAMBEAU_INLINE double bessel_y_special(double x, double r) {
  r = x < 0 ? kNaN<double> : r;
  return x == 0 ? -kInf<double> : r;
}

template <Floating T>
FLAMBEAU_INLINE T bessel_j0(T x) {
  double a = abs(x);
  auto [s, c] = phase(abs(x));
  auto [p, q] = bessel_far0(a);
  return T(a < 8 ? bessel_j0_near(a) : p * (c + s) - q * (s - c));
}
template <Floating T>
FLAMBEAU_INLINE T bessel_j1(T x) {
  double a = abs(x);
  auto [s, c] = phase(abs(x));
  auto [p, q] = bessel_far1(a);
  return flip_sign(T(a < 8 ? bessel_j1_near(a) : p * (s - c) + q * (s + c)), x);
}
template <Floating T>
FLAMBEAU_INLINE T bessel_y0(T x) {
  double a = x;
  auto [s, c] = phase(x);
  auto [p, q] = bessel_far0(a);
  double near =
      chebyshev_sum(kY0Near, a * a * 0.03125 - 1) + kTwoOverPi * (log(a) * bessel_j0_near(a));
  return T(bessel_y_special(a, a < 8 ? near : p * (s - c) + q * (c + s)));
}
template <Floating T>
FLAMBEAU_INLINE T bessel_y1(T x) {
  double a = x;
  auto [s, c] = phase(x);
  auto [p, q] = bessel_far1(a);
  double near = a * chebyshev_sum(kY1Near, a * a * 0.03125 - 1) +
                kTwoOverPi * (log(a) * bessel_j1_near(a) - 1 / a);
  return T(bessel_y_special(a, a < 8 ? near : q * (s - c) - p * (s + c)));
}
template <Floating T>
FLAMBEAU_INLINE T spherical_bessel_j0(T x) {
  double a = x;
  T r = T(phase(x).sin / a);
  r = isinf(x) ? T(0) : r;
  return x == 0 ? T(1) : r;
}

// ζ = ⅔·a^(3/2) in two parts: its rounding would cost the digits of a large angle or exponent.
struct Zeta {
  double high, low;
};
FLAMBEAU_INLINE double upper_half(double x) {
  return bits<double>(bits<uint64_t>(x) & ~uint64_t(0x7ffffff));
}
// a·b − rounded product (Dekker 1971).
FLAMBEAU_INLINE double product_rest(double a, double b, double product) {
  double a1 = upper_half(a), a2 = a - a1, b1 = upper_half(b), b2 = b - b1;
  return ((a1 * b1 - product) + (a1 * b2 + a2 * b1)) + a2 * b2;
}
FLAMBEAU_INLINE Zeta airy_zeta(double a, double root) {
  double square = root * root;
  double root_rest = ((a - square) - product_rest(root, root, square)) / (root + root);
  double product = a * root, rest = product_rest(a, root, product) + a * root_rest;
  double high = product / 1.5;
  return {high, (((product - high) - 0.5 * high) + rest) / 1.5};
}
// Beyond 1 the scaled function in 1/ζ, below −5 amplitudes in 1/ζ².
FLAMBEAU_INLINE double airy_ai(double x) {
  double a = abs(x), root = sqrt(a), quarter = sqrt(root);
  auto [zeta, zeta_rest] = airy_zeta(a, root);
  double right = exp(-zeta) * (1 - zeta_rest) *
                 chebyshev_sum(kAiryRight, 1.33333333333333333333 / zeta - 1) *
                 0.282094791773878143474 / quarter;
  double w = 7.45355992499929898803 / zeta, u = 2 * w * w - 1;
  auto [s, c] = phase_rounded(zeta, zeta_rest);
  double wave = (s + c) * chebyshev_sum(kAiryP, u) + (c - s) * (chebyshev_sum(kAiryQ, u) / zeta);
  double left = wave * 0.398942280401432677940 / quarter;
  double near = chebyshev_sum(kAiryNear, x * 0.333333333333333333333 + 0.666666666666666666667);
  double r = x > 1 ? right : near;
  r = x > 150 ? 0.0 : r;
  r = x < -5 ? left : r;
  return isinf(x) ? kNaN<double> : r;
}

FLAMBEAU_THROUGH_DOUBLE(bessel_i0e)
FLAMBEAU_THROUGH_DOUBLE(bessel_i1e)
FLAMBEAU_THROUGH_DOUBLE(bessel_i0)
FLAMBEAU_THROUGH_DOUBLE(bessel_i1)
FLAMBEAU_THROUGH_DOUBLE(bessel_k0)
FLAMBEAU_THROUGH_DOUBLE(bessel_k1)
FLAMBEAU_THROUGH_DOUBLE(bessel_k0e)
FLAMBEAU_THROUGH_DOUBLE(bessel_k1e)
FLAMBEAU_THROUGH_DOUBLE(airy_ai)

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
