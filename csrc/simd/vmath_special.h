// Special functions. These are evaluated in double, one element at a time: they are far from the
// hot loops, so accuracy and small size come first.
#pragma once
#include "simd/vmath_erf.h"
#include "simd/vmath_trig.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {

// Chebyshev coefficients (interpolation in 50 digits) of e^-x·I0(x) and e^-x·I1(x)/x in
// u = x/4 − 1 for x ≤ 8, and of √x·e^-x·I(x) in u = 16/x − 1 beyond.
inline constexpr double kI0Near[] = {
    0.338397637204738042,     -0.304682672343198399,    0.171620901522208775,
    -0.0949010970480476444,   0.0493052842396707085,    -0.0237374148058994688,
    0.0105464603945949983,    -0.00432430999505057594,  0.0016394756169413358,
    -0.000576375574538582366, 0.000188502885095841656,  -0.000057541950100821037,
    0.0000164484480707288971, -4.41673835845875056e-6,  1.11738753912010372e-6,
    -2.67079385394061173e-7,  6.04699502254191895e-8,   -1.30002500998624804e-8,
    2.65982372468238665e-9,   -5.18979560163526291e-10, 9.67580903537323691e-11,
    -1.72682629144155571e-11, 2.95505266312963983e-12,  -4.85644678311192946e-13,
    7.67618549860493562e-14,  -1.16853328779934517e-14, 1.71539128555513303e-15,
    -2.43127984654795469e-16, 3.3307945188222381e-17};
inline constexpr double kI1Near[] = {
    0.126293593221816827,     -0.176416518357834055,    0.102643658689847095,
    -0.0529459812080949914,   0.0247264490306265168,    -0.0105640848946261982,
    0.00415642294431288816,   -0.00151357245063125315,  0.000512285956168575773,
    -0.000161760815825896746, 0.0000478156510755005423, -0.0000132731636560394358,
    3.47025130813767848e-6,   -8.56872026469545474e-7,  2.00329475355213526e-7,
    -4.44505912879632808e-8,  9.38153738649577178e-9,   -1.88724975172282929e-9,
    3.62559028155211704e-10,  -6.66348972350202774e-11, 1.17361862988909016e-11,
    -1.98397439776494372e-12, 3.22379336594557471e-13,  -5.04218550472791169e-14,
    7.60068429473540693e-15,  -1.10559694773538631e-15, 1.55363195773620047e-16,
    -2.11142121435816608e-17, 2.77791411276104637e-18};
inline constexpr double kI0Far[] = {
    0.402245205507054416,     0.00336911647825569409,   0.0000688975834691682398,
    2.89137052083475648e-6,   2.04891858946906374e-7,   2.26666899049817806e-8,
    3.39623202570838635e-9,   4.94060238822496959e-10,  1.18891471078464383e-11,
    -3.14991652796324136e-11, -1.32158118404477131e-11, -1.79417853150680612e-12,
    7.18012445138366623e-13,  3.8527783827421427e-13,   1.54008621752140983e-14,
    -4.15056934728722209e-14, -9.55484669882830765e-15, 3.81168066935262242e-15,
    1.77256013305652638e-15,  -3.42548561967721913e-16, -2.82762398051658348e-16,
    3.46122286769746109e-17,  4.46562142029676e-17,     -4.83050448594418208e-18,
    -7.23318048787475394e-18};
inline constexpr double kI1Far[] = {
    0.38928811750914006,      -0.00976109749136146841,  -0.000110588938762623716,
    -3.88256480887769039e-6,  -2.51223623787020893e-7,  -2.63146884688951951e-8,
    -3.83538038596423702e-9,  -5.58974346219658381e-10, -1.89749581235054123e-11,
    3.25260358301548824e-11,  1.41258074366137813e-11,  2.03562854414708951e-12,
    -7.19855177624590851e-13, -4.08355111109219732e-13, -2.10154184277266431e-14,
    4.27244001671195135e-14,  1.04202769841288028e-14,  -3.8144030724370078e-15,
    -1.88035477551078245e-15, 3.30820231092092828e-16,  2.96262899764595014e-16,
    -3.20952592199342396e-17, -4.65030536848935833e-17, 4.41434832307170795e-18,
    7.51729631084210479e-18};

// Clenshaw's recurrence for a Chebyshev sum.
template <size_t N>
FLAMBEAU_INLINE double chebyshev(const double (&c)[N], double u) {
  double b0 = 0, b1 = 0, b2 = 0;
  for (size_t i = N; i-- > 0;) {
    b2 = b1;
    b1 = b0;
    b0 = c[i] + 2 * u * b1 - b2;
  }
  return b0 - u * b1;
}

FLAMBEAU_INLINE double i0e(double x) {
  double a = abs(x);
  if (a <= 8) return chebyshev(kI0Near, a / 4 - 1);
  return chebyshev(kI0Far, 16 / a - 1) / sqrt(a);
}
FLAMBEAU_INLINE double i1e(double x) {
  double a = abs(x);
  double r = a <= 8 ? a * chebyshev(kI1Near, a / 4 - 1) : chebyshev(kI1Far, 16 / a - 1) / sqrt(a);
  return flip_sign(r, x);
}
FLAMBEAU_INLINE double i0(double x) {
  // e^x in two factors: I0 overflows later than e^x does.
  double half = exp(abs(x) * 0.5);
  return isinf(x) ? kInf<double> : half * i0e(x) * half;
}
FLAMBEAU_INLINE double i1(double x) {
  double half = exp(abs(x) * 0.5);
  return isinf(x) ? x : half * i1e(x) * half;
}

FLAMBEAU_INLINE double lgamma(double x) {
  int sign;
  return __builtin_lgamma_r(x, &sign);
}

// Recurrence up to x ≥ 10, then the asymptotic series with the Bernoulli numbers B2k / 2k.
FLAMBEAU_INLINE double digamma(double x) {
  if (x == 0) return copysign(kInf<double>, -x);
  double reflected = 0;
  if (x < 0) {
    double part = x - trunc(x);
    if (part == 0 || x == -kInf<double>) return kNaN<double>;
    reflected = 3.14159265358979323846 / tan(3.14159265358979323846 * part);
    x = 1 - x;
  }
  double shifted = 0;
  for (; x < 10; x += 1) shifted += 1 / x;
  double w = 1 / (x * x);
  double series =
      w * (1. / 12 -
           w * (1. / 120 -
                w * (1. / 252 -
                     w * (1. / 240 - w * (1. / 132 - w * (691. / 32760 -
                                                          w * (1. / 12 - w * (3617. / 8160))))))));
  double r = log(x) - 0.5 / x - series;
  return (x == kInf<double> ? x : r) - shifted - reflected;
}

// Winitzki's closed form (2008), relative error 2e-3, as the start of Newton-like steps. `product`
// is (1 − y)(1 + y) for y = erf(result).
FLAMBEAU_INLINE double erfinv_start(double product) {
  double t = log(product), s = 4.33075023 + 0.5 * t;
  return sqrt(sqrt(s * s - t * (1 / 0.147)) - s);
}
// Two of Halley's steps; beyond one half the residual is taken from erfc, where 1 − y is exact.
FLAMBEAU_INLINE double erfinv(double y) {
  double a = abs(y);
  if (!(a < 1)) return a == 1 ? copysign(kInf<double>, y) : kNaN<double>;
  if (a < 1e-8) return y * 0.886226925452758013649;  // √π/2
  double r = erfinv_start((1 - a) * (1 + a));
  for (int i = 0; i < 2; i++) {
    double residual = a < 0.5 ? __builtin_erf(r) - a : (1 - a) - __builtin_erfc(r);
    double step = residual * 0.886226925452758013649 * __builtin_exp(r * r);
    r -= step / (1 + r * step);
  }
  return copysign(r, y);
}
// Solves erfc(r) = q for small q by Newton's method on the logarithm.
FLAMBEAU_INLINE double erfcinv_tail(double q) {
  double r = erfinv_start(q * (2 - q));
  for (int i = 0; i < 4; i++) {
    double value = __builtin_erfc(r);
    double slope = 1.12837916709551257390 * __builtin_exp(-r * r) / value;
    r += __builtin_log(value / q) / slope;
  }
  return r;
}
FLAMBEAU_INLINE double ndtri(double p) {
  constexpr double root2 = 1.41421356237309504880;
  if (!(p > 0 && p < 1)) {
    if (p == 0 || p == 1) return p == 0 ? -kInf<double> : kInf<double>;
    return kNaN<double>;
  }
  if (p >= 0.25 && p <= 0.75) return root2 * erfinv(2 * p - 1);
  double q = p < 0.5 ? p : 1 - p;
  return copysign(root2 * erfcinv_tail(2 * q), p - 0.5);
}
// log Φ(x): log1p on the right, log erfc in the middle, the asymptotic series on the far left.
FLAMBEAU_INLINE double log_ndtr(double x) {
  double y = x * 0.707106781186547524401;
  if (x > 0) return __builtin_log1p(-0.5 * __builtin_erfc(y));
  if (!(x < -30)) return __builtin_log(0.5 * __builtin_erfc(-y));
  double w = 1 / (x * x);
  double series = w * (-1 + w * (3 + w * (-15 + w * (105 + w * (-945 + w * 10395)))));
  return -0.5 * x * x - __builtin_log(-x) - 0.918938533204672741780 + __builtin_log1p(series);
}

#define FLAMBEAU_THROUGH_DOUBLE(name) \
  FLAMBEAU_INLINE float name(float x) { return float(name(double(x))); }
FLAMBEAU_THROUGH_DOUBLE(i0e)
FLAMBEAU_THROUGH_DOUBLE(i1e)
FLAMBEAU_THROUGH_DOUBLE(i0)
FLAMBEAU_THROUGH_DOUBLE(i1)
FLAMBEAU_THROUGH_DOUBLE(lgamma)
FLAMBEAU_THROUGH_DOUBLE(digamma)
FLAMBEAU_THROUGH_DOUBLE(erfinv)
FLAMBEAU_THROUGH_DOUBLE(ndtri)
FLAMBEAU_THROUGH_DOUBLE(log_ndtr)
#undef FLAMBEAU_THROUGH_DOUBLE

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
