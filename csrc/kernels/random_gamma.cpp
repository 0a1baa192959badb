// Gamma and Dirichlet variates, and their derivatives by the parameters at a fixed quantile, by
// which samples are differentiated (implicit reparameterization, Figurnov, Mohamed & Mnih 2018).
#include <cmath>

#include "kernels/checks.h"
#include "kernels/random_draw.h"
#include "ops/all.h"

namespace flambeau {
namespace kernels {
namespace {

// The smallest sample: of what underflows, the logarithm stays finite.
template <class T>
constexpr double kSmallest = double(std::numeric_limits<T>::min());

// Marsaglia & Tsang, "A simple method for generating gamma variables" (2000); below 1 the shape is
// raised by 1 and the result multiplied by U^(1/shape). What follows from the shape alone is
// rounded to T, constants to float, which keeps PyTorch's stream.
template <class T>
double gamma_draw(T shape, Generator& g) {
  if (shape == 0) return 0;
  double scale = 1;
  if (shape < 1) {
    scale = std::pow(1 - next_uniform(g), double(1 / shape));
    shape += 1;
  }
  const double d = double(shape - T(1.0f / 3.0f)), c = 1 / std::sqrt(9 * d);
  if (!(d > 0 && d < HUGE_VAL)) return d > 0 ? d : NAN;  // nothing would ever be accepted
  while (true) {
    double x, y;
    do {
      x = next_normal(g);
      y = 1 + c * x;
    } while (y <= 0);
    const double v = y * y * y, u = 1 - next_uniform(g), square = x * x;
    if (u < 1 - double(0.0331f) * square * square ||
        std::log(u) < 0.5 * square + d * (1 - v + std::log(v)))
      return scale * d * v;
  }
}

// ψ for x > 0: recurrence up to 10, then the asymptotic series.
double digamma_of(double x) {
  double shifted = 0;
  for (; x < 10; x += 1) shifted += 1 / x;
  const double w = 1 / (x * x);
  const double series =
      w * (1. / 12 -
           w * (1. / 120 - w * (1. / 252 - w * (1. / 240 - w * (1. / 132 - w * 691. / 32760)))));
  return std::log(x) - 0.5 / x - series - shifted;
}

// A number and its derivative by one parameter.
struct Dual {
  double value, slope;
};
Dual operator+(Dual a, Dual b) { return {a.value + b.value, a.slope + b.slope}; }
Dual operator*(Dual a, Dual b) {
  return {a.value * b.value, a.slope * b.value + a.value * b.slope};
}
Dual operator/(Dual a, Dual b) {
  const double q = a.value / b.value;
  return {q, (a.slope - q * b.slope) / b.value};
}

constexpr int kMostTerms = 20000;
constexpr double kEnough = 1e-16, kClose = 1e-15;

// Σ x^n / (a+1)_n, n ≥ 0: the lower incomplete gamma function over x^a·e^-x / a (DLMF 8.11.4).
Dual lower_series(double a, double x) {
  Dual sum{1, 0};
  double term = 1, slope = 0;  // of the term's logarithm
  for (int n = 1; n < kMostTerms && term > kEnough * sum.value; n++) {
    term *= x / (a + n);
    slope -= 1 / (a + n);
    sum = sum + Dual{term, term * slope};
  }
  return sum;
}

// Lentz's method as modified by Thompson & Barnett (1986), for b0 + a1 / (b1 + a2 / (b2 + …)).
// next(n, a, b) sets the n-th pair.
template <class F>
Dual continued_fraction(Dual start, F&& next) {
  constexpr double tiny = 1e-300;
  Dual f = start, c = start, d{0, 0};
  for (int n = 1; n < kMostTerms; n++) {
    Dual a, b;
    next(n, a, b);
    d = b + a * d;
    if (d.value == 0) d.value = tiny;
    c = b + a / c;
    if (c.value == 0) c.value = tiny;
    d = Dual{1, 0} / d;
    const Dual factor = c * d;
    f = f * factor;
    if (!(std::fabs(factor.value - 1) > kClose || std::fabs(factor.slope) > kClose)) break;
  }
  return f;
}

// The upper incomplete gamma function over x^a·e^-x (DLMF 8.9.2, contracted).
Dual upper_fraction(double a, double x) {
  const Dual f = continued_fraction({x + 1 - a, -1}, [=](int n, Dual& p, Dual& q) {
    p = {n * (a - n), double(n)};
    q = {x + 2 * n + 1 - a, -1};
  });
  return Dual{1, 0} / f;
}

// For large shapes a the derivative g(x) at λ = x / a = 1 + u is expanded in 1/a. Along a quantile
// ∂(g·f)/∂x = -∂f/∂a for the density f, so that with x = aλ
//   g'/a + g·(1/λ - 1 - 1/(aλ)) = -(log λ + log a - ψ(a)),
// which gives the terms one after the other: g0 = λ·log λ / u and
//   g[k+1] = (λ·(g[k]' + s[k]) - g[k]) / u  with log a - ψ(a) = Σ s[k] / a^(k+1).
// The numerators are zero at u = 0: the terms are power series in u.
struct LargeShape {
  static constexpr int kTerms = 4, kPowers = 40;
  double coefficients[kTerms][kPowers];

  LargeShape() {
    constexpr double s[kTerms] = {1. / 2, 1. / 12, 0, -1. / 120};
    double g[kPowers + kTerms + 1];
    g[0] = 1;
    for (int k = 1; k <= kPowers + kTerms; k++) g[k] = (k % 2 ? 1.0 : -1.0) / (double(k) * (k + 1));
    for (int term = 0; term < kTerms; term++) {
      std::copy(g, g + kPowers, coefficients[term]);
      for (int k = 1; k < kPowers + kTerms - term; k++)
        g[k - 1] = (k + 1) * g[k + 1] + (k - 1) * g[k] + (k == 1 ? s[term] : 0);
    }
  }
  double operator()(double u, double a) const {
    double sum = 0;
    for (int term = kTerms - 1; term >= 0; term--) {
      double g = 0;
      for (int k = kPowers - 1; k >= 0; k--) g = g * u + coefficients[term][k];
      sum = sum / a + g;
    }
    return sum;
  }
};

// dx/da of a Gamma(a, 1) variate x at a fixed quantile: -(∂F/∂a) / f.
double gamma_slope(double a, double x) {
  if (std::isnan(a) || std::isnan(x) || !(a > 0) || !(x >= 0)) return NAN;
  if (x == 0) return 0;
  if (x == HUGE_VAL || a == HUGE_VAL) return NAN;
  const double u = (x - a) / a;
  if (a >= 1e4 && std::fabs(u) < 0.25) {
    static const LargeShape expansion;
    return expansion(u, a);
  }
  if (x < a + 1) {
    // ψ(a + 1) instead of ψ(a) + 1/a: nothing cancels where a is small
    const Dual s = lower_series(a, x);
    return -x / a * ((std::log(x) - digamma_of(a + 1)) * s.value + s.slope);
  }
  const Dual c = upper_fraction(a, x);
  return x * ((std::log(x) - digamma_of(a)) * c.value + c.slope);
}

// The incomplete beta function over x^a·(1 - x)^b / (a·B(a, b)) (DLMF 8.17.22); the derivative is
// by a, or by b.
Dual beta_fraction(double a, double b, double x, bool by_a) {
  const Dual p{a, by_a ? 1.0 : 0.0}, q{b, by_a ? 0.0 : 1.0};
  const Dual f = continued_fraction({1, 0}, [=](int n, Dual& over, Dual& under) {
    const int m = n / 2;
    const Dual k{double(m), 0}, at = p + Dual{2.0 * m, 0};
    under = {1, 0};
    if (n % 2 == 0)
      over = Dual{m * x, 0} * (q + Dual{-double(m), 0}) / (at * (at + Dual{-1, 0}));
    else
      over = Dual{-x, 0} * (p + k) * (p + q + k) / (at * (at + Dual{1, 0}));
  });
  return Dual{1, 0} / f;
}

// dx/da / (1 - x) of a Beta(a, total - a) variate x at a fixed quantile. Either tail of the
// distribution is computed from its own side.
double beta_slope(double x, double a, double total) {
  const double b = total - a;
  if (!(x >= 0 && x <= 1) || !(a > 0) || !(b > 0) || total == HUGE_VAL) return NAN;
  if (x == 0) return 0;
  const double log_x = std::log(x), psi = digamma_of(total);
  if (x < (a + 1) / (total + 2)) {
    const Dual h = beta_fraction(a, b, x, true);
    return -x / a * ((log_x - digamma_of(a + 1) + psi) * h.value + h.slope);
  }
  const Dual h = beta_fraction(b, a, 1 - x, false);
  return x / b * ((log_x - digamma_of(a) + psi) * h.value + h.slope);
}

void check_dtype(const char* name, const Tensor& t) {
  check<NotImplementedError>(t.dtype() == DType::Float32 || t.dtype() == DType::Float64, "\"", name,
                             "\" not implemented for '", type_name(t.dtype()), "'");
}

Tensor same_dtype(const char* op, const char* name, const Tensor& t, const Tensor& like,
                  const Dims& sizes) {
  check(t.dtype() == like.dtype(), op, ": expected ", name, " of dtype ", like.dtype(),
        " as the first argument, but got ", t.dtype());
  return contiguous_of(expand(t, sizes, false));
}

}  // namespace

Tensor _standard_gamma(const Tensor& self, Generator* generator) {
  check_dtype("gamma_cpu", self);
  Tensor out = flambeau::empty(self.sizes(), self.dtype(), self.device());
  if (out.is_meta() || out.numel() == 0) return out;
  Tensor shapes = contiguous_of(self);
  visit_float(self.dtype(), "gamma_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* shape = shapes.data<T>();
    draw_serial(out, generator, [=](Generator& g, int64_t i) {
      const double x = gamma_draw(shape[i], g);
      return x < kSmallest<T> ? kSmallest<T> : x;
    });
  });
  return out;
}

Tensor _standard_gamma_grad(const Tensor& self, const Tensor& output) {
  check_dtype("_standard_gamma_grad_cpu", self);
  const Dims sizes = broadcast_shapes(self.sizes(), output.sizes());
  Tensor out = flambeau::empty(sizes, self.dtype(), self.device());
  Tensor shapes = same_dtype("_standard_gamma_grad", "self", self, self, sizes);
  Tensor samples = same_dtype("_standard_gamma_grad", "output", output, self, sizes);
  if (out.is_meta() || out.numel() == 0) return out;
  visit_float(self.dtype(), "_standard_gamma_grad_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *a = shapes.data<T>(), *x = samples.data<T>();
    T* slope = out.data<T>();
    parallel_for(out.numel(), 1 << 8, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) slope[i] = T(gamma_slope(double(a[i]), double(x[i])));
    });
  });
  return out;
}

// Gamma variates over their sum along the last dimension.
Tensor _sample_dirichlet(const Tensor& self, Generator* generator) {
  check_dtype("dirichlet", self);
  Tensor out = flambeau::empty(self.sizes(), self.dtype(), self.device());
  if (out.is_meta() || out.numel() == 0) return out;
  Tensor wide = contiguous_of(cast_of(self, DType::Float64));
  Tensor gammas = flambeau::empty(self.sizes(), DType::Float64);
  const double* shape = wide.data<double>();
  draw_serial(gammas, generator, [=](Generator& g, int64_t i) { return gamma_draw(shape[i], g); });
  const int64_t n = self.dim() == 0 ? 1 : self.size(-1);
  visit_float(self.dtype(), "dirichlet", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const double* x = gammas.data<double>();
    T* p = out.data<T>();
    for (int64_t row = 0; row < out.numel(); row += n) {
      double sum = 0;
      for (int64_t i = row; i < row + n; i++) sum += x[i];
      for (int64_t i = row; i < row + n; i++)
        p[i] = T(x[i] / sum < kSmallest<T> ? kSmallest<T> : x[i] / sum);
    }
  });
  return out;
}

Tensor _dirichlet_grad(const Tensor& x, const Tensor& alpha, const Tensor& total) {
  check_dtype("_dirichlet_grad_cpu", x);
  const Dims sizes = broadcast_shapes(broadcast_shapes(x.sizes(), alpha.sizes()), total.sizes());
  Tensor out = flambeau::empty(sizes, x.dtype(), x.device());
  Tensor samples = same_dtype("_dirichlet_grad", "x", x, x, sizes);
  Tensor shapes = same_dtype("_dirichlet_grad", "alpha", alpha, x, sizes);
  Tensor totals = same_dtype("_dirichlet_grad", "total", total, x, sizes);
  if (out.is_meta() || out.numel() == 0) return out;
  visit_float(x.dtype(), "_dirichlet_grad_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *p = samples.data<T>(), *a = shapes.data<T>(), *t = totals.data<T>();
    T* slope = out.data<T>();
    parallel_for(out.numel(), 1 << 8, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++)
        slope[i] = T(beta_slope(double(p[i]), double(a[i]), double(t[i])));
    });
  });
  return out;
}

}  // namespace kernels
}  // namespace flambeau
