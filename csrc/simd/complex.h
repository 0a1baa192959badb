// Complex numbers with std::complex's layout. The transcendental functions are libm's C99 ones
// (Annex G at infinities and NaN), called without std::complex so that no shared inline function
// of the standard library is compiled per instruction set.
#pragma once
#include "simd/vmath.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {

template <class T>
struct Complex {
  T re, im;
  Complex() = default;
  constexpr Complex(T r, T i = T(0)) : re(r), im(i) {}
};

#define FLAMBEAU_COMPLEX \
  template <Floating T>  \
  FLAMBEAU_INLINE

FLAMBEAU_COMPLEX Complex<T> operator+(Complex<T> a, Complex<T> b) {
  return {a.re + b.re, a.im + b.im};
}
FLAMBEAU_COMPLEX Complex<T> operator-(Complex<T> a, Complex<T> b) {
  return {a.re - b.re, a.im - b.im};
}
FLAMBEAU_COMPLEX Complex<T> operator-(Complex<T> a) { return {-a.re, -a.im}; }
// a·b, rounded: products added and subtracted in turn GCC 12 would fuse, against -ffp-contract=off.
FLAMBEAU_COMPLEX T product(T a, T b) {
#if __has_builtin(__builtin_assoc_barrier)
  return __builtin_assoc_barrier(a * b);
#else
  return a * b;
#endif
}
FLAMBEAU_COMPLEX Complex<T> operator*(Complex<T> a, Complex<T> b) {
  return {product(a.re, b.re) - product(a.im, b.im), product(a.re, b.im) + product(a.im, b.re)};
}
// Smith's division (1962): scaled by the larger part of the divisor, so that no square overflows.
FLAMBEAU_COMPLEX Complex<T> operator/(Complex<T> a, Complex<T> b) {
  T abs_re = __builtin_copysign(b.re, T(1)), abs_im = __builtin_copysign(b.im, T(1));
  bool swap = abs_re < abs_im, zero = (abs_re == 0) & (abs_im == 0);
  T big = swap ? b.im : b.re, small = swap ? b.re : b.im;
  T ratio = small / big;
  T scale = big + small * ratio;
  const T re_part = product(a.re, ratio), im_part = product(a.im, ratio);
  T re = swap ? re_part + a.im : a.re + im_part;
  T im = swap ? im_part - a.re : a.im - re_part;
  // Division by zero divides each part, which keeps infinities instead of NaN.
  re = zero ? a.re : re;
  im = zero ? a.im : im;
  scale = zero ? T(0) : scale;
  return {re / scale, im / scale};
}
FLAMBEAU_COMPLEX bool operator==(Complex<T> a, Complex<T> b) {
  return (a.re == b.re) & (a.im == b.im);
}
FLAMBEAU_COMPLEX bool operator!=(Complex<T> a, Complex<T> b) { return !(a == b); }

// Mixed arithmetic with a real number, which C++ cannot deduce through the constructor.
#define FLAMBEAU_MIXED(op)                                                           \
  FLAMBEAU_COMPLEX Complex<T> operator op(Complex<T> a, std::type_identity_t<T> b) { \
    return a op Complex<T>(b);                                                       \
  }                                                                                  \
  FLAMBEAU_COMPLEX Complex<T> operator op(std::type_identity_t<T> a, Complex<T> b) { \
    return Complex<T>(a) op b;                                                       \
  }
FLAMBEAU_MIXED(+)
FLAMBEAU_MIXED(-)
FLAMBEAU_MIXED(*)
FLAMBEAU_MIXED(/)
#undef FLAMBEAU_MIXED

FLAMBEAU_COMPLEX Complex<T>& operator+=(Complex<T>& a, Complex<T> b) { return a = a + b; }
FLAMBEAU_COMPLEX Complex<T>& operator-=(Complex<T>& a, Complex<T> b) { return a = a - b; }
FLAMBEAU_COMPLEX Complex<T>& operator*=(Complex<T>& a, Complex<T> b) { return a = a * b; }
FLAMBEAU_COMPLEX Complex<T>& operator/=(Complex<T>& a, Complex<T> b) { return a = a / b; }

FLAMBEAU_COMPLEX T real(Complex<T> z) { return z.re; }
FLAMBEAU_COMPLEX T imag(Complex<T> z) { return z.im; }
FLAMBEAU_COMPLEX Complex<T> conj(Complex<T> z) { return {z.re, -z.im}; }
FLAMBEAU_COMPLEX T abs(Complex<T> z) { return hypot(z.re, z.im); }
FLAMBEAU_COMPLEX T arg(Complex<T> z) { return atan2(z.im, z.re); }
FLAMBEAU_COMPLEX bool isnan(Complex<T> z) { return (z.re != z.re) | (z.im != z.im); }
template <Floating T>
FLAMBEAU_INLINE Complex<T> polar(T magnitude, T angle) {
  return {magnitude * cos(angle), magnitude * sin(angle)};
}

FLAMBEAU_INLINE __complex__ float to_c99(Complex<float> z) {
  return __builtin_bit_cast(__complex__ float, z);
}
FLAMBEAU_INLINE __complex__ double to_c99(Complex<double> z) {
  return __builtin_bit_cast(__complex__ double, z);
}
FLAMBEAU_INLINE Complex<float> from_c99(__complex__ float z) { return {__real__ z, __imag__ z}; }
FLAMBEAU_INLINE Complex<double> from_c99(__complex__ double z) { return {__real__ z, __imag__ z}; }

#define FLAMBEAU_C99(name)                                  \
  FLAMBEAU_INLINE Complex<float> name(Complex<float> z) {   \
    return from_c99(__builtin_c##name##f(to_c99(z)));       \
  }                                                         \
  FLAMBEAU_INLINE Complex<double> name(Complex<double> z) { \
    return from_c99(__builtin_c##name(to_c99(z)));          \
  }
FLAMBEAU_C99(exp)
FLAMBEAU_C99(log)
FLAMBEAU_C99(sqrt)
FLAMBEAU_C99(sin)
FLAMBEAU_C99(cos)
FLAMBEAU_C99(tan)
FLAMBEAU_C99(sinh)
FLAMBEAU_C99(cosh)
FLAMBEAU_C99(tanh)
FLAMBEAU_C99(asin)
FLAMBEAU_C99(acos)
FLAMBEAU_C99(atan)
FLAMBEAU_C99(asinh)
FLAMBEAU_C99(acosh)
FLAMBEAU_C99(atanh)
#undef FLAMBEAU_C99

FLAMBEAU_INLINE Complex<float> cpow(Complex<float> a, Complex<float> b) {
  return from_c99(__builtin_cpowf(to_c99(a), to_c99(b)));
}
FLAMBEAU_INLINE Complex<double> cpow(Complex<double> a, Complex<double> b) {
  return from_c99(__builtin_cpow(to_c99(a), to_c99(b)));
}

FLAMBEAU_COMPLEX Complex<T> square(Complex<T> z) { return z * z; }
FLAMBEAU_COMPLEX Complex<T> reciprocal(Complex<T> z) { return Complex<T>(1) / z; }
FLAMBEAU_COMPLEX Complex<T> rsqrt(Complex<T> z) { return Complex<T>(1) / sqrt(z); }
FLAMBEAU_COMPLEX Complex<T> sigmoid(Complex<T> z) {
  return Complex<T>(1) / (Complex<T>(1) + exp(-z));
}
FLAMBEAU_COMPLEX Complex<T> exp2(Complex<T> z) {
  return exp(Complex<T>(z.re * T(0.693147180559945309417), z.im * T(0.693147180559945309417)));
}
FLAMBEAU_COMPLEX Complex<T> log2(Complex<T> z) {
  Complex<T> r = log(z);
  return {r.re * T(1.44269504088896340736), r.im * T(1.44269504088896340736)};
}
FLAMBEAU_COMPLEX Complex<T> log10(Complex<T> z) {
  Complex<T> r = log(z);
  return {r.re * T(0.434294481903251827651), r.im * T(0.434294481903251827651)};
}
// log|1 + z|² = log1p(2·re + |z|²): no cancellation near z = 0; far away log has none either.
FLAMBEAU_COMPLEX Complex<T> log1p(Complex<T> z) {
  Complex<T> u = {z.re + T(1), z.im};
  T near = T(0.5) * log1p(z.re * (z.re + T(2)) + z.im * z.im);
  bool small = abs(z) < T(0.5);
  return {small ? near : log(u).re, atan2(u.im, u.re)};
}
// e^z − 1 = expm1(re)·cos(im) − 2·sin²(im/2) + i·e^re·sin(im)
FLAMBEAU_COMPLEX Complex<T> expm1(Complex<T> z) {
  T half_sine = sin(z.im * T(0.5));
  T re = expm1(z.re) * cos(z.im) - T(2) * half_sine * half_sine;
  T im = z.im == 0 ? z.im : exp(z.re) * sin(z.im);
  return {re, im};
}
FLAMBEAU_COMPLEX Complex<T> sign(Complex<T> z) {
  T r = abs(z);
  return r == 0 ? Complex<T>(0) : z / Complex<T>(r);
}
FLAMBEAU_COMPLEX Complex<T> sgn(Complex<T> z) { return sign(z); }
// z^0 is 1, also for z = 0. Small powers are products, which are exact where the numbers allow.
FLAMBEAU_COMPLEX Complex<T> pow(Complex<T> a, Complex<T> b) {
  if (b.im == 0) {
    if (b.re == 1) return a;
    if (b.re == 2) return a * a;
    if (b.re == 3) return a * a * a;
    if (b.re == -1) return Complex<T>(1) / a;
    if (b.re == -2) return Complex<T>(1) / (a * a);
  }
  Complex<T> r = cpow(a, b);
  return b.re == 0 && b.im == 0 ? Complex<T>(1) : r;
}

#undef FLAMBEAU_COMPLEX

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
