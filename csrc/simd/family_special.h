// What the expressions of _ops/special.py call beyond the common vector math.
#pragma once
#include "simd/vmath_bessel.h"
#include "simd/vmath_gamma.h"
#include "simd/vmath_normal.h"
#include "simd/vmath_orthogonal.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {

// x = m·2^e with ½ ≤ |m| < 1; zero, infinity and NaN are their own m, with e = 0.
template <Floating T>
FLAMBEAU_INLINE T frexp_exponent(T x) {
  constexpr T least = sizeof(T) == 4 ? T(0x1p-126) : T(0x1p-1022), up = T(0x1p60);
  T a = abs(x);
  bool tiny = a < least;
  BitsOf<T> field = bits<BitsOf<T>>(tiny ? a * up : a) >> kMantissaBits<T>;
  T e = T(int32_t(field)) - (sizeof(T) == 4 ? T(126) : T(1022)) - (tiny ? T(60) : T(0));
  return (a == 0) | !(a < kInf<T>) ? T(0) : e;
}
template <Floating T>
FLAMBEAU_INLINE T frexp_mantissa(T x) {
  constexpr T least = sizeof(T) == 4 ? T(0x1p-126) : T(0x1p-1022), up = T(0x1p60);
  constexpr BitsOf<T> half = bits<BitsOf<T>>(T(0.5)), field = bits<BitsOf<T>>(kInf<T>);
  T a = abs(x);
  T m = bits<T>((bits<BitsOf<T>>(a < least ? x * up : x) & ~field) | half);
  return (a == 0) | !(a < kInf<T>) ? x : m;
}
// x·2^y in two factors: 2^y alone may be out of range where the product is not.
template <class T>
FLAMBEAU_INLINE T scaled_by_power(T x, T y) {
  if constexpr (Floating<T>) {
    T first = floor(y * T(0.5));
    return x * exp2(first) * exp2(y - first);
  } else {
    return x * exp2(y);
  }
}

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
