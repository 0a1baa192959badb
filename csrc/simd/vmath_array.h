// Array forms of double sin and cos. The scalar versions call libm because a straight-line exact
// reduction of huge doubles would cost every element; here a vectorized pass handles |x| < 2^21
// block by block and libm replaces the rare others, so each element's value depends on it alone.
#pragma once
#include "simd/vmath_trig.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {

inline constexpr double kTrigFastLimit = 0x1p21;

// sin (shift 0) or cos (shift 1) for |x| < kTrigFastLimit: Cody & Waite's reduction with π/2 in
// four parts, of which the first two have products with n that are exact.
template <int shift>
FLAMBEAU_INLINE double trig_fast(double x) {
  double shifted = x * 0x1.45f306dc9c883p-1 + kRoundMagic<double>;
  double n = shifted - kRoundMagic<double>;
  double high = (x - n * 0x1.921fb54400000p+0) - n * 0x1.0b4611a600000p-34;
  double low = n * 0x1.3198a2e000000p-69 + n * 0x1.b839a252049c1p-104;
  double r = high - low, rest = (high - r) - low, z = r * r;
  double s = horner(z, -0x1.5555555555549p-3, 0x1.111111110f802p-7, -0x1.a01a019c01d8fp-13,
                    0x1.71de35697d6e2p-19, -0x1.ae5e5aafb17f1p-26, 0x1.5d8f8c5eb2c38p-33);
  double c = horner(z, 0x1.555555555554ap-5, -0x1.6c16c16c14efcp-10, 0x1.a01a019c7558dp-16,
                    -0x1.27e4f7dfb1e44p-22, 0x1.1ee9d001e5f3cp-29, -0x1.8fa087901755dp-37);
  double half = 0.5 * z, near_one = 1.0 - half;
  double sine = r + (r * z * s + rest);
  double cosine = near_one + (((1.0 - near_one) - half) + (z * z * c - r * rest));
  uint64_t quadrant = bits<uint64_t>(shifted) + shift;
  double value = (quadrant & 1) != 0 ? cosine : sine;
  value = bits<double>(bits<uint64_t>(value) ^ (quadrant << 62 & kSignBit<double>));
  return shift == 0 && x == 0 ? x : value;
}

template <int shift>
FLAMBEAU_INLINE void trig_array(double* out, const double* in, size_t n) {
  constexpr size_t block = 256;
  double x[block], y[block];
  for (size_t start = 0; start < n; start += block) {
    size_t count = n - start < block ? n - start : block;
    size_t huge = 0;
    for (size_t i = 0; i < count; i++) {
      x[i] = in[start + i];
      y[i] = trig_fast<shift>(x[i]);
      huge += !(abs(x[i]) < kTrigFastLimit);
    }
    for (size_t i = 0; huge && i < count; i++) {
      if (!(abs(x[i]) < kTrigFastLimit)) y[i] = shift ? cos(x[i]) : sin(x[i]);
    }
    for (size_t i = 0; i < count; i++) out[start + i] = y[i];
  }
}
FLAMBEAU_INLINE void sin_array(double* out, const double* in, size_t n) {
  trig_array<0>(out, in, n);
}
FLAMBEAU_INLINE void cos_array(double* out, const double* in, size_t n) {
  trig_array<1>(out, in, n);
}

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
