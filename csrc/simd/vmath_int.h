// Integer versions of the pointwise functions. Arithmetic wraps; nothing traps: a zero divisor and
// the smallest number divided by -1 have defined results (operators report them before the loop).
#pragma once
#include "simd/target.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {

template <Integral T>
inline constexpr bool is_signed = T(-1) < T(0);
// Wrapping arithmetic happens in an unsigned type that integer promotion leaves alone.
template <Integral T>
using Wide = std::conditional_t<(sizeof(T) > 4), uint64_t, uint32_t>;

template <Integral T>
FLAMBEAU_INLINE T abs(T a) {
  if constexpr (!is_signed<T>)
    return a;
  else
    return a < 0 ? T(Wide<T>(0) - Wide<T>(a)) : a;
}
template <Integral T>
FLAMBEAU_INLINE T sign(T a) {
  if constexpr (!is_signed<T>)
    return T(a != 0);
  else
    return T((a > 0) - (a < 0));
}
template <Integral T>
FLAMBEAU_INLINE T maximum(T a, T b) {
  return a > b ? a : b;
}
template <Integral T>
FLAMBEAU_INLINE T minimum(T a, T b) {
  return a < b ? a : b;
}
template <Integral T>
FLAMBEAU_INLINE T fmax(T a, T b) {
  return maximum(a, b);
}
template <Integral T>
FLAMBEAU_INLINE T fmin(T a, T b) {
  return minimum(a, b);
}
template <Integral T>
FLAMBEAU_INLINE T floor(T a) {
  return a;
}
template <Integral T>
FLAMBEAU_INLINE T ceil(T a) {
  return a;
}
template <Integral T>
FLAMBEAU_INLINE T trunc(T a) {
  return a;
}
template <Integral T>
FLAMBEAU_INLINE T round(T a) {
  return a;
}

// Quotient toward zero; x / 0 is 0 and min / -1 wraps to min.
template <Integral T>
FLAMBEAU_INLINE T trunc_divide(T a, T b) {
  if constexpr (is_signed<T>) {
    if (b == T(-1)) return T(Wide<T>(0) - Wide<T>(a));
  }
  return b == 0 ? T(0) : T(a / b);
}
template <Integral T>
FLAMBEAU_INLINE T floor_divide(T a, T b) {
  T q = trunc_divide(a, b);
  if constexpr (is_signed<T>) {
    bool inexact = b != 0 && T(Wide<T>(q) * Wide<T>(b)) != a;
    return inexact && (a < 0) != (b < 0) ? T(q - 1) : q;
  }
  return q;
}
// C's remainder (sign of the dividend); x % 0 is 0.
template <Integral T>
FLAMBEAU_INLINE T fmod(T a, T b) {
  if constexpr (is_signed<T>) {
    if (b == T(-1)) return T(0);
  }
  return b == 0 ? T(0) : T(a % b);
}
// Python's remainder (sign of the divisor).
template <Integral T>
FLAMBEAU_INLINE T remainder(T a, T b) {
  T r = fmod(a, b);
  if constexpr (is_signed<T>) return r != 0 && (r < 0) != (b < 0) ? T(r + b) : r;
  return r;
}

// By squaring, wrapping. A negative exponent rounds the true value toward zero: only ±1 survive.
template <Integral T>
FLAMBEAU_INLINE T pow(T base, T exponent) {
  if constexpr (is_signed<T>) {
    if (exponent < 0) {
      if (base == T(1)) return T(1);
      if (base == T(-1)) return exponent & 1 ? T(-1) : T(1);
      return T(0);
    }
  }
  Wide<T> result = 1, square = Wide<T>(base), e = Wide<T>(exponent);
  while (e) {
    if (e & 1) result *= square;
    square *= square;
    e >>= 1;
  }
  return T(result);
}

// Counts below zero or past the width shift everything out.
template <Integral T>
FLAMBEAU_INLINE T shift_left(T a, T count) {
  constexpr int width = int(sizeof(T) * 8);
  bool in_range = count >= T(0) && count < T(width);
  Wide<T> c = in_range ? Wide<T>(count) : Wide<T>(0);
  return in_range ? T(Wide<T>(a) << c) : T(0);
}
template <Integral T>
FLAMBEAU_INLINE T shift_right(T a, T count) {
  constexpr int width = int(sizeof(T) * 8), last = width - 1;
  bool in_range = count >= T(0) && count < T(width);
  if constexpr (is_signed<T>)
    return T(a >> (in_range ? int(count) : last));
  else
    return in_range ? T(a >> int(count)) : T(0);
}

template <Integral T>
FLAMBEAU_INLINE T gcd(T a, T b) {
  Wide<T> x = Wide<T>(abs(a)), y = Wide<T>(abs(b));
  if constexpr (sizeof(T) < sizeof(Wide<T>)) {
    x &= (Wide<T>(1) << sizeof(T) * 8) - 1;
    y &= (Wide<T>(1) << sizeof(T) * 8) - 1;
  }
  while (y) {
    Wide<T> r = x % y;
    x = y;
    y = r;
  }
  return T(x);
}
template <Integral T>
FLAMBEAU_INLINE T lcm(T a, T b) {
  T g = gcd(a, b);
  Wide<T> product = g == 0 ? 0 : Wide<T>(trunc_divide(a, g)) * Wide<T>(b);
  if constexpr (!is_signed<T>)
    return T(product);
  else
    return T(abs(std::make_signed_t<Wide<T>>(product)));  // sign taken before narrowing
}

template <Integral T>
FLAMBEAU_INLINE T heaviside(T a, T at_zero) {
  return a == 0 ? at_zero : T(a > 0);
}

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
