// erf, erfc and the normal distribution function built on them. Straight-line, except erfc in
// double (libm). Polynomials are minimax fits (Remez exchange).
#pragma once
#include "simd/vmath_exp.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {

// Below 1 an odd polynomial, above it 1 − e^P(x) with P fitted to log erfc; 1 from 4 on.
FLAMBEAU_INLINE float erf(float x) {
  float a = abs(x), z = a * a;
  float small = horner(z, 0x1.06eba8p-3f, -0x1.812740p-2f, 0x1.ce2d50p-4f, -0x1.b7fe90p-6f,
                       0x1.542e10p-8f, -0x1.a50b10p-11f, 0x1.4c3460p-14f);
  float t = choose(a > 4.0f, 4.0f, a);
  float p = horner(t, 0x1.8b3dd2p-13f, -0x1.212c2cp0f, -0x1.4434f6p-1f, -0x1.bc1896p-4f,
                   0x1.9d0b38p-6f, -0x1.13981cp-8f, 0x1.cee8a8p-12f, -0x1.6c04ccp-16f);
  auto reduced = reduce_exp(p);
  float large = fma(-exp_poly(reduced), power_of_two(reduced.shifted), 1.0f);
  return copysign(a < 1.0f ? fma(a, small, a) : large, x);
}

// e^(a²)·erfc(a)·(1 + 2a) is smooth in (a − 2)/(a + 2): Shepherd & Laframboise (1981).
FLAMBEAU_INLINE double erfc_fd(double x) {
  double a = abs(x);
  a = a > 11.0 ? 11.0 : a;
  double linear = 1.0 + 2.0 * a, shifted = a + 2.0, inverse = 1.0 / (linear * shifted);
  double t = (a - 2.0) * linear * inverse;
  double p = horner(t, 0x1.46e80e26fc155p+0, -0x1.7bf5ea99686fap-4, -0x1.5407ce8356a02p-3,
                    0x1.4ff9ff05c99f8p-3, -0x1.bc2736ada32d3p-5, -0x1.07286a0d9c2b3p-7,
                    0x1.1d64c80e56bb1p-7, 0x1.4877f6edf9b31p-10, -0x1.74acf2a204063p-10,
                    -0x1.a4df9705deac5p-12, 0x1.6481106b14f23p-13, 0x1.4f26a4d797dd6p-14);
  double r = exp_fd(-a * a) * p * (shifted * inverse);
  return x < 0 ? 2.0 - r : r;
}
FLAMBEAU_INLINE float erfc(float x) { return float(erfc_fd(x)); }

FLAMBEAU_INLINE double erf(double x) {
  double a = abs(x), z = a * a;
  double small = horner(z, 0x1.06eba8214db69p-3, -0x1.812746b0379e6p-2, 0x1.ce2f21a042b20p-4,
                        -0x1.b82ce3128499cp-6, 0x1.565bcd0db02cap-8, -0x1.c02db3d8ecdf0p-11,
                        0x1.f9a321a11681bp-14, -0x1.f4d1df38c9cf5p-17, 0x1.b9def197fda05p-20,
                        -0x1.5f1d369414b6ep-23, 0x1.f7a41069f062cp-27, -0x1.386abbd18ced5p-30,
                        0x1.05799ea0e8141p-34);
  double t = a > 6.0 ? 6.0 : a;
  double p = horner(t, -0x1.0dfc6bd09eb42p-21, -0x1.20dd1fd25fa8fp+0, -0x1.45f62761c4141p-1,
                    -0x1.a4ac5b6920ee6p-4, 0x1.37228c14fcb99p-6, 0x1.ae964e896b561p-12,
                    -0x1.f641a418d12b0p-10, 0x1.940b6a6d48d99p-11, -0x1.1b3c6424c5793p-13,
                    -0x1.53f4f077d0f94p-16, 0x1.7edf78894e2c1p-16, -0x1.22ce4018eb919p-17,
                    0x1.1ea1399855921p-19, -0x1.90ce8a43190e5p-22, 0x1.8ebe2dd0cb950p-25,
                    -0x1.0e5707971cfa0p-28, 0x1.c1a7757fb6a12p-33, -0x1.5ac9ce211bc6dp-38);
  auto reduced = reduce_exp(p);
  double large = 1.0 - exp_poly(reduced) * power_of_two(reduced.shifted);
  return copysign(a < 1.0 ? a * small + a : large, x);
}
FLAMBEAU_INLINE double erfc(double x) { return __builtin_erfc(x); }

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
