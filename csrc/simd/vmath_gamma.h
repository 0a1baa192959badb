// The Hurwitz zeta function, derivatives of digamma, and the incomplete gamma functions. Their
// loops run as long as the arguments ask for, one element at a time, in double.
#pragma once
#include "simd/vmath_normal.h"
#include "simd/vmath_special.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {

// Σ (q + k)^-s, s > 1, q > 0: terms up to q + k = 1.2·(s + 8), then Euler & Maclaurin's formula:
// from there on each of its terms is at most a fortieth of the one before, down to rounding.
FLAMBEAU_INLINE double zeta_positive(double s, double q) {
  double sum = 0, a = q, term = pow(a, -s);
  const double limit = 1.2 * (s + 8);
  while (a < limit) {
    sum += term;
    a += 1;
    term = pow(a, -s);
    if (!(term > 0x1p-60 * sum)) return sum + term;  // also when all terms vanish
  }
  constexpr double bernoulli[] = {// B2j / (2j)!
                                  1. / 12,
                                  -1. / 720,
                                  1. / 30240,
                                  -1. / 1209600,
                                  1. / 47900160,
                                  -691. / 1307674368000,
                                  1. / 74724249600,
                                  -3617. / 10670622842880000,
                                  43867. / 5109094217170944000,
                                  -174611. / 802857662698291200000.};
  double tail = term * a / (s - 1) + 0.5 * term, factor = term * s / a, square = 1 / (a * a);
  for (int j = 0; j < 10; j++) {
    double part = bernoulli[j] * factor;
    tail += part;
    if (abs(part) < 0x1p-60 * tail) break;
    factor *= (s + 2 * j + 1) * (s + 2 * j + 2) * square;
  }
  return sum + tail;
}
// Negative q, for which s must be an integer: the terms below zero are those of two sums at
// positive arguments, however many they are.
FLAMBEAU_INLINE double zeta(double s, double q) {
  if (s != s || q != q || s < 1 || isinf(s) || q == kInf<double>) return kNaN<double>;
  if (s == 1) return kInf<double>;
  if (q > 0) return zeta_positive(s, q);
  double whole = ceil(-q);
  if (whole == -q) return kInf<double>;
  if (s != floor(s)) return kNaN<double>;
  double part = q + whole, mirrored = zeta_positive(s, 1 - part);
  mirrored -= zeta_positive(s, whole + (1 - part));
  bool odd = floor(s * 0.5) * 2 != s;
  return zeta_positive(s, part) + (odd ? -mirrored : mirrored);
}

// (−1)^(n+1)·n!·ζ(n + 1, x).
FLAMBEAU_INLINE double polygamma(double x, double n) {
  if (n == 0) return digamma(x);
  if (n == 1 && isinf(x)) return x > 0 ? 0.0 : kNaN<double>;
  double factorial = n <= 170 ? __builtin_tgamma(n + 1) : kInf<double>;
  double value = factorial * zeta(n + 1, x);
  return floor(n * 0.5) * 2 != n ? value : -value;
}
FLAMBEAU_INLINE float polygamma(float x, float n) { return float(polygamma(double(x), double(n))); }

// ---- incomplete gamma functions
// μ − log(1 + μ) for |μ| < ½ through the series of the inverse hyperbolic tangent.
FLAMBEAU_INLINE double log1p_defect(double mu) {
  if (abs(mu) >= 0.5) return mu - log1p(mu);
  double r = mu / (2 + mu), z = r * r, sum = 0;
  for (int k = 27; k >= 3; k -= 2) sum = sum * z + 1.0 / k;
  return r * mu - 2 * r * z * sum;
}
// x^a·e^-x / Γ(a + 1); for large a the saddle-point form of Loader (2000).
FLAMBEAU_INLINE double gamma_prefactor(double a, double x) {
  if (a < 10) {
    double direct = pow(x, a) * exp(-x) / __builtin_tgamma(a + 1);
    return x < 700 ? direct : __builtin_exp(a * log(x) - x - lgamma(a + 1));
  }
  double w = 1 / (a * a);
  double stirling =
      (1. / 12 -
       w * (1. / 360 - w * (1. / 1260 - w * (1. / 1680 - w * (1. / 1188 - w * 691. / 360360))))) /
      a;
  return exp(-a * log1p_defect((x - a) / a) - stirling) / sqrt(6.28318530717958647693 * a);
}
// log Γ(1 + a) for |a| < ¼: −γa + Σ ζ(k)·(−a)^k / k.
FLAMBEAU_INLINE double lgamma_near_one(double a) {
  constexpr double zeta_over_k[] = {
      0.822467033424113218,  -0.400685634386531428,  0.270580808427784548,  -0.207385551028673985,
      0.16955717699740819,   -0.144049896768846118,  0.125509669524743042,  -0.11133426586956469,
      0.100099457512781809,  -0.0909540171458290422, 0.083353840546109004,  -0.0769325164113521915,
      0.0714329462953613361, -0.066668705882420468,  0.0625009551412130407, -0.0588239786586845823,
      0.0555557676274036111, -0.0526316793796166607, 0.0500000476981016936, -0.047619070330142228,
      0.0454545562932046694};
  double sum = 0;
  for (int k = 20; k >= 0; k--) sum = sum * a + zeta_over_k[k];
  return a * (a * sum - 0.577215664901532860607);
}
// Temme's uniform expansion (1979) for very large a, where |x/a − 1| is small or the result 0 or 1.
FLAMBEAU_INLINE double gamma_uniform(double a, double x, bool upper) {
  double mu = (x - a) / a, eta = sqrt(2 * log1p_defect(mu));
  eta = copysign(eta, mu);
  double z = eta * sqrt(0.5 * a);
  double c0 = -1. / 3 +
              eta * (1. / 12 + eta * (-2. / 135 +
                                      eta * (1. / 864 + eta * (1. / 2835 - eta * 139. / 777600))));
  double c1 = -1. / 540 + eta * (-1. / 288 + eta * (1. / 378));
  if (abs(eta) > 0.1) c0 = 0, c1 = 0;  // the exponential is 0 there
  double rest = exp(-z * z) / sqrt(6.28318530717958647693 * a) * (c0 + c1 / a);
  return upper ? 0.5 * __builtin_erfc(z) + rest : 0.5 * __builtin_erfc(-z) - rest;
}
// The regularized lower function P(a, x), or the upper one Q = 1 − P.
FLAMBEAU_INLINE double gamma_regularized(double a, double x, bool upper) {
  if (a < 0 || x < 0) return kNaN<double>;
  const double zero = upper ? 1.0 : 0.0, one = upper ? 0.0 : 1.0;
  // An infinite argument decides, even next to NaN.
  if (a == 0) return x > 0 ? one : kNaN<double>;
  if (x == 0) return zero;
  if (isinf(a)) return isinf(x) ? kNaN<double> : zero;
  if (isinf(x)) return one;
  if (a != a || x != x) return kNaN<double>;
  if (a >= 1e6) return gamma_uniform(a, x, upper);
  if (upper && a < 0.25 && x < 1.5) {
    // 1 − P without the cancellation: P = e^l·(1 + a·Σ (−x)^n / ((a + n)·n!)).
    double l = a * log(x) - lgamma_near_one(a), sum = 0, term = 1;
    for (int n = 1; n < 40; n++) {
      term *= -x / n;
      sum += term / (a + n);
    }
    return -expm1(l) - exp(l) * a * sum;
  }
  if (x < a + 1) {
    double sum = 1, term = 1;
    for (double n = a + 1; term > 0x1p-60 * sum; n += 1) {
      term *= x / n;
      sum += term;
    }
    double lower = gamma_prefactor(a, x) * sum;
    return upper ? 1 - lower : lower;
  }
  // Legendre's continued fraction by Lentz's method.
  double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
  for (double i = 1; i < 1e5; i += 1) {
    double an = -i * (i - a);
    b += 2;
    d = an * d + b;
    c = b + an / c;
    d = abs(d) < 1e-300 ? 1e-300 : d;
    c = abs(c) < 1e-300 ? 1e-300 : c;
    d = 1 / d;
    double change = c * d;
    h *= change;
    if (abs(change - 1) < 0x1p-53) break;
  }
  double q = gamma_prefactor(a, x) * a * h;
  return upper ? q : 1 - q;
}
template <Floating T>
FLAMBEAU_INLINE T igamma(T a, T x) {
  return T(gamma_regularized(a, x, false));
}
template <Floating T>
FLAMBEAU_INLINE T igammac(T a, T x) {
  return T(gamma_regularized(a, x, true));
}
FLAMBEAU_INLINE float zeta(float s, float q) { return float(zeta(double(s), double(q))); }

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
