// Sine and cosine of one angle together, in double, straight-line where the angle allows.
#pragma once
#include "simd/vmath_trig.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {

inline constexpr double kTwoOverPi = 0.636619772367581343076;

struct Phase {
  double sin, cos;
};
// Of r + rest, |r| ≤ π/4, moved by `quadrant` quarter turns.
FLAMBEAU_INLINE Phase phase_reduced(double r, double rest, uint64_t quadrant) {
  double z = r * r;
  double s = horner(z, -0x1.5555555555549p-3, 0x1.111111110f802p-7, -0x1.a01a019c01d8fp-13,
                    0x1.71de35697d6e2p-19, -0x1.ae5e5aafb17f1p-26, 0x1.5d8f8c5eb2c38p-33);
  double c = horner(z, 0x1.555555555554ap-5, -0x1.6c16c16c14efcp-10, 0x1.a01a019c7558dp-16,
                    -0x1.27e4f7dfb1e44p-22, 0x1.1ee9d001e5f3cp-29, -0x1.8fa087901755dp-37);
  double half = 0.5 * z, near_one = 1.0 - half;
  double sine = r + (r * z * s + rest);
  double cosine = near_one + (((1.0 - near_one) - half) + (z * z * c - r * rest));
  // Sine and cosine change places in odd quarters, by masks: SSE2 compares no 64-bit integers.
  uint64_t sine_bits = bits<uint64_t>(sine), cosine_bits = bits<uint64_t>(cosine);
  uint64_t change = (sine_bits ^ cosine_bits) & (0 - (quadrant & 1));
  uint64_t sin_sign = quadrant << 62 & kSignBit<double>;
  uint64_t cos_sign = (quadrant + 1) << 62 & kSignBit<double>;
  return {bits<double>((sine_bits ^ change) ^ sin_sign),
          bits<double>((cosine_bits ^ change) ^ cos_sign)};
}
// Exact reduction of every float.
FLAMBEAU_INLINE Phase phase(float x) {
  auto [a, quadrant] = reduce_trig(x);
  Phase p = phase_reduced(a * 0x1.921fb54442d18p0, a * 0x1.1a62633145c07p-54, quadrant);
  return {flip_sign(p.sin, double(x)), p.cos};
}
FLAMBEAU_INLINE Phase phase(double x) { return {sin(x), cos(x)}; }
// Of the angle x + more (the second below the last place of the first), x below 2^51; NaN beyond,
// where no digit of it is known.
FLAMBEAU_INLINE Phase phase_rounded(double x, double more) {
  double shifted = x * kTwoOverPi + kRoundMagic<double>, n = shifted - kRoundMagic<double>;
  double high = (x - n * 0x1.921fb54400000p+0) - n * 0x1.0b4611a600000p-34;
  double low = n * 0x1.3198a2e037073p-69 - more;
  double r = high - low, rest = (high - r) - low;
  Phase p = phase_reduced(r, rest, bits<uint64_t>(shifted));
  bool known = x < 0x1p51;
  return {known ? p.sin : kNaN<double>, known ? p.cos : kNaN<double>};
}
// Of π·x: turns are taken off exactly.
FLAMBEAU_INLINE Phase phase_pi(double x) {
  double turns = x - 2 * round(x * 0.5);
  double shifted = 2 * turns + kRoundMagic<double>, quarters = shifted - kRoundMagic<double>;
  double r = turns - 0.5 * quarters;
  double high = r * 3.14159265358979323846;
  return phase_reduced(high, r * 0x1.1a62633145c07p-53, bits<uint64_t>(shifted));
}

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
