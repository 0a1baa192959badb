// Shared ground of the per-instruction-set headers. Everything in csrc/simd is compiled once per
// target into its own namespace, always inlined, so that the linker can never hand code built for
// one instruction set to another. Results are equal to the bit on every target: no contraction, no
// fast-math, fused operations only through fma().
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#ifndef FLAMBEAU_TARGET_NS
#define FLAMBEAU_TARGET_NS baseline
#endif

#define FLAMBEAU_INLINE static inline __attribute__((always_inline))

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {

template <class T>
concept Floating = std::floating_point<T>;
template <class T>
concept Integral = std::integral<T>;

template <class To, class From>
FLAMBEAU_INLINE constexpr To bits(From x) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, x);
}

template <Floating T>
inline constexpr T kInf = T(__builtin_inf());
template <Floating T>
inline constexpr T kNaN = T(__builtin_nan(""));

// a·b + c with one rounding. Without the instruction, float goes through double: the product is
// exact there, and the sum is rounded to odd (Boldo & Melquiond 2008) so that the last rounding is
// the only one; this form still vectorizes.
FLAMBEAU_INLINE float fma(float a, float b, float c) {
#ifdef __FP_FAST_FMAF
  return __builtin_fmaf(a, b, c);
#else
  double p = double(a) * double(b), z = c;
  double s = p + z, t = s - p;
  double error = (p - (s - t)) + (z - t);  // two-sum
  // One step toward zero where s was rounded away from it, then the sticky bit. A NaN error (s is
  // infinite or NaN) compares false and leaves s.
  uint64_t u = bits<uint64_t>(s), away = (u ^ bits<uint64_t>(error)) >> 63;
  bool inexact = __builtin_fabs(error) > 0;
  return float(inexact ? bits<double>((u - away) | 1) : s);
#endif
}
FLAMBEAU_INLINE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
