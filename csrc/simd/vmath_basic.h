// Rounding, sign, extrema, remainders and other exact float functions. All are branch-free except
// the remainders, whose exact quotient needs libm's fmod.
#pragma once
#include "simd/target.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {

// The unsigned integer of a float's size, and the number of its stored mantissa bits.
template <Floating T>
using BitsOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
template <Floating T>
inline constexpr int kMantissaBits = sizeof(T) == 4 ? 23 : 52;
template <Floating T>
inline constexpr BitsOf<T> kSignBit = BitsOf<T>(1) << (sizeof(T) * 8 - 1);

#define FLAMBEAU_FLOAT  \
  template <Floating T> \
  FLAMBEAU_INLINE

FLAMBEAU_FLOAT T abs(T x) { return bits<T>(bits<BitsOf<T>>(x) & ~kSignBit<T>); }
FLAMBEAU_FLOAT T copysign(T x, T sign) {
  return bits<T>((bits<BitsOf<T>>(x) & ~kSignBit<T>) | (bits<BitsOf<T>>(sign) & kSignBit<T>));
}
// x with its sign flipped where `sign` is negative.
FLAMBEAU_FLOAT T flip_sign(T x, T sign) {
  return bits<T>(bits<BitsOf<T>>(x) ^ (bits<BitsOf<T>>(sign) & kSignBit<T>));
}
FLAMBEAU_FLOAT bool isnan(T x) { return x != x; }
FLAMBEAU_FLOAT bool isinf(T x) { return abs(x) == kInf<T>; }
FLAMBEAU_FLOAT bool isfinite(T x) { return abs(x) < kInf<T>; }
FLAMBEAU_FLOAT bool signbit(T x) { return (bits<BitsOf<T>>(x) & kSignBit<T>) != 0; }
// NaN has sign 0.
FLAMBEAU_FLOAT T sign(T x) {
  T r = x > 0 ? T(1) : T(0);
  return x < 0 ? T(-1) : r;
}

// Adding 1.5·2^mantissa pushes the fraction out with the hardware's rounding; the low bits of the
// sum then hold the integer. Valid for |x| < 2^(mantissa - 1).
template <Floating T>
inline constexpr T kRoundMagic = sizeof(T) == 4 ? T(0x1.8p23) : T(0x1.8p52);

#ifdef __SSE4_1__
FLAMBEAU_INLINE float round(float x) { return __builtin_rintf(x); }
FLAMBEAU_INLINE double round(double x) { return __builtin_rint(x); }
FLAMBEAU_INLINE float floor(float x) { return __builtin_floorf(x); }
FLAMBEAU_INLINE double floor(double x) { return __builtin_floor(x); }
FLAMBEAU_INLINE float ceil(float x) { return __builtin_ceilf(x); }
FLAMBEAU_INLINE double ceil(double x) { return __builtin_ceil(x); }
FLAMBEAU_INLINE float trunc(float x) { return __builtin_truncf(x); }
FLAMBEAU_INLINE double trunc(double x) { return __builtin_trunc(x); }
#else
FLAMBEAU_FLOAT T round(T x) {
  constexpr T whole = sizeof(T) == 4 ? T(0x1p23) : T(0x1p52);
  T a = abs(x), r = (a + whole) - whole;
  return a < whole ? copysign(r, x) : x;
}
FLAMBEAU_FLOAT T floor(T x) {
  T r = round(x);
  return copysign(r > x ? r - T(1) : r, x);
}
FLAMBEAU_FLOAT T ceil(T x) {
  T r = round(x);
  return copysign(r < x ? r + T(1) : r, x);
}
FLAMBEAU_FLOAT T trunc(T x) {
  T a = abs(x), r = round(a);
  return copysign(r > a ? r - T(1) : r, x);
}
#endif
FLAMBEAU_FLOAT T frac(T x) { return x - trunc(x); }

// maximum, minimum: a NaN wins. fmax, fmin: a number wins.
FLAMBEAU_FLOAT T maximum(T a, T b) {
  T r = a > b ? a : b;
  return a != a ? a : r;
}
FLAMBEAU_FLOAT T minimum(T a, T b) {
  T r = a < b ? a : b;
  return a != a ? a : r;
}
FLAMBEAU_FLOAT T fmax(T a, T b) {
  T r = a < b ? b : a;
  return a != a ? b : r;
}
FLAMBEAU_FLOAT T fmin(T a, T b) {
  T r = a > b ? b : a;
  return a != a ? b : r;
}

FLAMBEAU_INLINE float sqrt(float x) { return __builtin_sqrtf(x); }
FLAMBEAU_INLINE double sqrt(double x) { return __builtin_sqrt(x); }
FLAMBEAU_FLOAT T rsqrt(T x) { return T(1) / sqrt(x); }
FLAMBEAU_FLOAT T reciprocal(T x) { return T(1) / x; }
FLAMBEAU_FLOAT T square(T x) { return x * x; }
FLAMBEAU_FLOAT T heaviside(T x, T at_zero) {
  T r = x > 0 ? T(1) : T(0);
  return x == 0 ? at_zero : r;
}

// float squares fit a double, so no scaling is needed.
FLAMBEAU_INLINE float hypot(float a, float b) {
  double x = a, y = b;
  float r = float(__builtin_sqrt(x * x + y * y));
  return isinf(a) | isinf(b) ? kInf<float> : r;
}
FLAMBEAU_INLINE double hypot(double a, double b) { return __builtin_hypot(a, b); }

// The neighbour of x toward y: one step in the bit pattern, whose order is the numbers' order.
FLAMBEAU_FLOAT T nextafter(T x, T y) {
  using U = BitsOf<T>;
  U u = bits<U>(x);
  bool grow = (x < y) == (x > 0);
  U step = grow ? u + 1 : u - 1;
  U from_zero = (bits<U>(y) & kSignBit<T>) | 1;
  T r = bits<T>(x == 0 ? from_zero : step);
  r = x == y ? y : r;
  return x != x || y != y ? x + y : r;
}

FLAMBEAU_INLINE float fmod(float a, float b) { return __builtin_fmodf(a, b); }
FLAMBEAU_INLINE double fmod(double a, double b) { return __builtin_fmod(a, b); }
// Python's remainder: the sign of the divisor.
FLAMBEAU_FLOAT T remainder(T a, T b) {
  T r = fmod(a, b);
  return (r != 0) & ((r < 0) != (b < 0)) ? r + b : r;
}
// Python's a // b: the floor of the exact quotient, from the exact remainder.
FLAMBEAU_FLOAT T floor_divide(T a, T b) {
  T r = fmod(a, b), q = (a - r) / b;
  q = (r != 0) & ((r < 0) != (b < 0)) ? q - T(1) : q;
  T whole = floor(q);
  whole = q - whole > T(0.5) ? whole + T(1) : whole;
  whole = q == 0 ? copysign(T(0), a / b) : whole;
  return b == 0 ? a / b : whole;
}
FLAMBEAU_FLOAT T trunc_divide(T a, T b) { return trunc(a / b); }

FLAMBEAU_INLINE float ldexp(float x, int n) { return __builtin_ldexpf(x, n); }
FLAMBEAU_INLINE double ldexp(double x, int n) { return __builtin_ldexp(x, n); }

#undef FLAMBEAU_FLOAT

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
