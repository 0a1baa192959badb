// Truth, classification and bit functions for all element types, as the table's expressions name
// them.
#pragma once
#include "simd/complex.h"
#include "simd/vmath.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {

template <class T>
FLAMBEAU_INLINE bool truth(T x) {
  return x != T(0);
}
template <class T>
FLAMBEAU_INLINE bool is_finite(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return x - x == T(0);
  else
    return true;
}
template <class T>
FLAMBEAU_INLINE bool is_finite(Complex<T> z) {
  return is_finite(z.re) & is_finite(z.im);
}
template <class T>
FLAMBEAU_INLINE bool is_infinite(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return (x == kInf<T>) | (x == -kInf<T>);
  else
    return false;
}
template <class T>
FLAMBEAU_INLINE bool is_infinite(Complex<T> z) {
  return is_infinite(z.re) | is_infinite(z.im);
}
FLAMBEAU_INLINE bool sign_bit(float x) { return int32_t(bits<uint32_t>(x)) < 0; }
FLAMBEAU_INLINE bool sign_bit(double x) { return int64_t(bits<uint64_t>(x)) < 0; }
template <Integral T>
FLAMBEAU_INLINE bool sign_bit(T x) {
  return x < T(0);
}
template <class T>
FLAMBEAU_INLINE bool has_no_imaginary(T) {
  return true;
}
template <class T>
FLAMBEAU_INLINE bool has_no_imaginary(Complex<T> z) {
  return z.im == T(0);
}
template <Integral T>
FLAMBEAU_INLINE T bit_not(T x) {
  if constexpr (__is_same(T, bool))
    return !x;
  else
    return T(~x);
}
template <class T>
  requires std::is_arithmetic_v<T>
FLAMBEAU_INLINE T conj(T x) {
  return x;
}
template <Floating T>
FLAMBEAU_INLINE T arg(T x) {
  return x != x ? x : (x < T(0) ? T(3.14159265358979323846) : T(0));
}
// The form that is exact at both ends.
template <class T>
FLAMBEAU_INLINE T lerp(T x, T y, T w) {
  if constexpr (std::is_floating_point_v<T>)
    return abs(w) < T(0.5) ? x + w * (y - x) : y - (y - x) * (T(1) - w);
  else
    return abs(w) < 0.5 ? x + w * (y - x) : y - (y - x) * (T(1) - w);
}

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
