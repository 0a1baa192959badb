// Orthogonal polynomials of a degree that differs from element to element: their three-term
// recurrences, in double. The degree is cut to an integer; a negative one (and NaN) gives zero.
#pragma once
#include "simd/vmath_trig.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {

// Up to the first degree recurrences, then functions of the angle inside [−1, 1]; from the second
// on hyperbolic functions outside of it. No recurrence of the other polynomials is longer than the
// third.
inline constexpr double kRecurrenceDegree = 6, kClosedDegree = 1000, kLargestDegree = 1e6;

// p1·2x − p0 n times; stops where the numbers have left the range.
FLAMBEAU_INLINE double chebyshev_recurrence(double x, double degree, double first) {
  if (degree == 0) return 1;
  double before = 1, value = first;
  for (double k = 1; k < degree && value == value; k += 1) {
    double next = (x + x) * value - before;
    before = value;
    value = next;
  }
  return value;
}
FLAMBEAU_INLINE double sign_of_parity(double x, double degree) {
  return x > 0 || floor(degree * 0.5) * 2 == degree ? 1.0 : -1.0;
}

// |x| > 1: the four kinds are ratios of cosh (even) and sinh of multiples of θ = acosh|x|; the
// third and the fourth change places for negative x.
FLAMBEAU_INLINE double chebyshev_outside(double x, double whole, double part, bool even) {
  double theta = acosh(abs(x));
  if (part == 0) return even ? cosh(whole * theta) : 0.0;
  return even ? cosh(whole * theta) / cosh(part * theta) : sinh(whole * theta) / sinh(part * theta);
}

FLAMBEAU_INLINE double chebyshev_t(double x, double n) {
  n = trunc(n);
  if (!(n >= 0)) return 0;
  if (abs(x) == 1) return sign_of_parity(x, n);
  if (n > kRecurrenceDegree && abs(x) < 1) return cos(n * acos(x));
  if (n > kClosedDegree) return sign_of_parity(x, n) * chebyshev_outside(x, n, 0, true);
  return chebyshev_recurrence(x, n, x);
}
FLAMBEAU_INLINE double chebyshev_u(double x, double n) {
  n = trunc(n);
  if (!(n >= 0)) return 0;
  if (abs(x) == 1) return sign_of_parity(x, n) * (n + 1);
  if (n > kRecurrenceDegree && abs(x) < 1) {
    double angle = acos(x);
    return sin((n + 1) * angle) / sin(angle);
  }
  if (n > kClosedDegree) return sign_of_parity(x, n) * chebyshev_outside(x, n + 1, 1, false);
  return chebyshev_recurrence(x, n, x + x);
}
FLAMBEAU_INLINE double chebyshev_v(double x, double n) {
  n = trunc(n);
  if (!(n >= 0)) return 0;
  if (abs(x) == 1) return x > 0 ? 1.0 : sign_of_parity(x, n) * (n + n + 1);
  if (n > kRecurrenceDegree && abs(x) < 1) {
    double half = 0.5 * acos(x);
    return cos((n + n + 1) * half) / cos(half);
  }
  if (n > kClosedDegree) return sign_of_parity(x, n) * chebyshev_outside(x, n + 0.5, 0.5, x > 0);
  return chebyshev_recurrence(x, n, x + x - 1);
}
FLAMBEAU_INLINE double chebyshev_w(double x, double n) {
  n = trunc(n);
  if (!(n >= 0)) return 0;
  if (abs(x) == 1) return x > 0 ? n + n + 1 : sign_of_parity(x, n);
  if (n > kRecurrenceDegree && abs(x) < 1) {
    double half = 0.5 * acos(x);
    return sin((n + n + 1) * half) / sin(half);
  }
  if (n > kClosedDegree) return sign_of_parity(x, n) * chebyshev_outside(x, n + 0.5, 0.5, x < 0);
  return chebyshev_recurrence(x, n, x + x + 1);
}
FLAMBEAU_INLINE double hermite_h(double x, double n) {
  n = trunc(n);
  if (!(n >= 0)) return 0;
  if (n == 0) return 1;
  double before = 1, value = x + x;
  for (double k = 1; k < n && value - value == 0; k += 1) {
    double next = 2 * (x * value - k * before);
    before = value;
    value = next;
  }
  return value;
}
FLAMBEAU_INLINE double hermite_he(double x, double n) {
  n = trunc(n);
  if (!(n >= 0)) return 0;
  if (n == 0) return 1;
  double before = 1, value = x;
  for (double k = 1; k < n && value - value == 0; k += 1) {
    double next = x * value - k * before;
    before = value;
    value = next;
  }
  return value;
}
FLAMBEAU_INLINE double laguerre_l(double x, double n) {
  n = trunc(n);
  if (!(n >= 0)) return 0;
  if (x == 0 || n == 0) return 1;
  if (n > kLargestDegree) return kNaN<double>;
  double before = 1, value = 1 - x;
  for (double k = 1; k < n && value == value; k += 1) {
    double next = ((k + k + 1 - x) * value - k * before) / (k + 1);
    before = value;
    value = next;
  }
  return value;
}
FLAMBEAU_INLINE double legendre_p(double x, double n) {
  n = trunc(n);
  if (!(n >= 0)) return 0;
  if (abs(x) == 1) return sign_of_parity(x, n);
  if (n == 0) return 1;
  if (n > kLargestDegree) return kNaN<double>;
  double before = 1, value = x;
  for (double k = 1; k < n && value == value; k += 1) {
    double next = ((k + k + 1) * x * value - k * before) / (k + 1);
    before = value;
    value = next;
  }
  return value;
}

#define FLAMBEAU_THROUGH_DOUBLE2(name) \
  FLAMBEAU_INLINE float name(float x, float n) { return float(name(double(x), double(n))); }
FLAMBEAU_THROUGH_DOUBLE2(chebyshev_t)
FLAMBEAU_THROUGH_DOUBLE2(chebyshev_u)
FLAMBEAU_THROUGH_DOUBLE2(chebyshev_v)
FLAMBEAU_THROUGH_DOUBLE2(chebyshev_w)
FLAMBEAU_THROUGH_DOUBLE2(hermite_h)
FLAMBEAU_THROUGH_DOUBLE2(hermite_he)
FLAMBEAU_THROUGH_DOUBLE2(laguerre_l)
FLAMBEAU_THROUGH_DOUBLE2(legendre_p)
#undef FLAMBEAU_THROUGH_DOUBLE2

// 2x − 1 is exact in double for float arguments.
#define FLAMBEAU_SHIFTED(name)                              \
  template <Floating T>                                     \
  FLAMBEAU_INLINE T shifted_##name(T x, T n) {              \
    return T(name(double(x) + double(x) - 1.0, double(n))); \
  }
FLAMBEAU_SHIFTED(chebyshev_t)
FLAMBEAU_SHIFTED(chebyshev_u)
FLAMBEAU_SHIFTED(chebyshev_v)
FLAMBEAU_SHIFTED(chebyshev_w)
#undef FLAMBEAU_SHIFTED

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
