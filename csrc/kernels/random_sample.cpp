// Random operators that read tensors: per-element parameters, choice among weights, dropout masks.
#include <cmath>
#include <numeric>

#include "kernels/checks.h"
#include "kernels/random_draw.h"
#include "kernels/targets.h"
#include "ops/all.h"

namespace flambeau {

#define FLAMBEAU_DECLARE(ns)                \
  namespace ns {                            \
  extern const DropoutFns dropout_table[1]; \
  }
FLAMBEAU_DECLARE(baseline)
FLAMBEAU_DECLARE(avx2)
FLAMBEAU_DECLARE(avx512)
#undef FLAMBEAU_DECLARE

namespace kernels {
namespace {

const DropoutFns& dropout_fns() {
  static const DropoutFns* const tables[3] = {FLAMBEAU_TABLE_BASELINE(dropout_table, 0),
                                              FLAMBEAU_TABLE_AVX2(dropout_table, 0),
                                              FLAMBEAU_TABLE_AVX512(dropout_table, 0)};
  return *tables[chosen_target()];
}

// `t` broadcast to the shape of `like`, as contiguous elements in the order in which `like` lies in
// memory.
Tensor spread(const Tensor& t, const Tensor& like, DType dtype) {
  Tensor whole = equal(t.sizes(), like.sizes()) ? t : expand(t, like.sizes(), false);
  if (!like.is_contiguous()) whole = permuted(whole, memory_order(like));
  return contiguous_of(cast_of(whole, dtype));
}

// ---- normal with tensors
// ------------------------------------------------------------------------------

void check_std(const Tensor& std) {
  check(!std.is_complex(), "normal expects standard deviation to be non-complex, got ",
        std.dtype());
  if (std.is_meta() || std.numel() == 0) return;
  Tensor values = contiguous_of(cast_of(std, DType::Float64));
  const double* s = values.data<double>();
  for (int64_t i = 0; i < std.numel(); i++)
    check(s[i] >= 0.0, "normal expects all elements of std >= 0.0, got ", s[i]);
}

// out = out * std + mean, rounded to out's dtype after either step.
template <class T>
void scale_and_shift(const Tensor& out, const Tensor& mean, const Tensor& std) {
  constexpr bool half = std::is_same_v<T, half_t> || std::is_same_v<T, bfloat16_t>;
  using C = std::conditional_t<half, float, T>;
  T* x = out.data<T>();
  const T *m = mean.data<T>(), *s = std.data<T>();
  for (int64_t i = 0; i < out.numel(); i++) x[i] = T(C(T(C(x[i]) * C(s[i]))) + C(m[i]));
}

Tensor normal_of(const Tensor& mean, const Tensor& std, DType dtype, Device device,
                 Generator* generator) {
  check_std(std);
  Tensor out = flambeau::empty(broadcast_shapes(mean.sizes(), std.sizes()), dtype, device);
  normal_(out, 0, 1, generator);
  if (out.is_meta() || out.numel() == 0) return out;
  Tensor m = spread(mean, out, dtype), s = spread(std, out, dtype);
  visit(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_integral_v<T>) scale_and_shift<T>(out, m, s);
  });
  return out;
}

Tensor number(double value, DType dtype, Device device) {
  Tensor out = flambeau::empty(Dims{}, dtype, device);
  fill_kernel(out, value);
  return out;
}

}  // namespace

Tensor normal_tensor_tensor(const Tensor& mean, const Tensor& std, Generator* generator) {
  return normal_of(mean, std, mean.dtype(), mean.device(), generator);
}
Tensor normal_tensor_float(const Tensor& mean, double std, Generator* generator) {
  check(std >= 0.0, "normal expects std >= 0.0, but found std ", std);
  return normal_of(mean, number(std, DType::Float64, mean.device()), mean.dtype(), mean.device(),
                   generator);
}
Tensor normal_float_tensor(double mean, const Tensor& std, Generator* generator) {
  return normal_of(number(mean, DType::Float64, std.device()), std, std.dtype(), std.device(),
                   generator);
}

// ---- bernoulli
// ----------------------------------------------------------------------------------------

Tensor bernoulli__tensor(const Tensor& self, const Tensor& p, Generator* generator) {
  check<NotImplementedError>(p.is_floating(), "\"bernoulli_tensor_cpu_p_\" not implemented for '",
                             type_name(p.dtype()), "'");
  check<NotImplementedError>(!self.is_complex(),
                             "\"bernoulli_tensor_cpu_self_\" not implemented for '",
                             type_name(self.dtype()), "'");
  check_overlap("bernoulli_", self, self);
  if (self.is_meta() || self.numel() == 0) return self;
  const DType compute = info(p.dtype()).compute;
  Tensor chance = spread(p, self, compute);
  visit_float(compute, "bernoulli", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* q = chance.data<T>();
    for (int64_t i = 0; i < chance.numel(); i++)
      check(q[i] >= 0 && q[i] <= 1,
            "bernoulli: Expected p_in >= 0 && p_in <= 1 to be true, but got p = ", q[i]);
    constexpr bool wide = sizeof(T) == 8;
    draw(self, generator, DType::Bool, wide ? 2 : 1,
         [=](void* out, const uint32_t* words, int64_t n, int64_t at) {
           T u[512];
           const auto uniform = wide ? random_fns().uniform_double : random_fns().uniform_float;
           for (int64_t start = 0; start < n; start += 512) {
             const int64_t count = std::min<int64_t>(512, n - start);
             uniform(u, words + start * (wide ? 2 : 1), count, 0, 1);
             for (int64_t i = 0; i < count; i++)
               static_cast<bool*>(out)[start + i] = u[i] < q[at + start + i];
           }
         });
  });
  return self;
}
Tensor bernoulli(const Tensor& self, Generator* generator) {
  return bernoulli__tensor(flambeau::empty(self.sizes(), self.dtype(), self.device()), self,
                           generator);
}
Tensor bernoulli_p(const Tensor& self, double p, Generator* generator) {
  return bernoulli__float(flambeau::empty(self.sizes(), self.dtype(), self.device()), p, generator);
}

// ---- poisson and binomial
// -----------------------------------------------------------------------------

namespace {

// Small rates: products of uniforms (Knuth). Others: Hörmann's transformed rejection PTRS (1993).
double poisson_draw(double rate, Generator& g) {
  if (rate == 0) return 0;
  if (rate < 10) {
    const double limit = std::exp(-rate);
    double product = next_uniform(g);
    int64_t k = 0;
    for (; product > limit; k++) product *= next_uniform(g);
    return double(k);
  }
  const double root = std::sqrt(rate), log_rate = std::log(rate);
  const double b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), accept = 0.9277 - 3.6224 / (b - 2);
  while (true) {
    const double u = next_uniform(g) - 0.5, v = next_uniform(g), us = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= accept) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b) <=
        k * log_rate - rate - std::lgamma(k + 1))
      return k;
  }
}

// Sums of geometric waiting times.
double binomial_by_inversion(double count, double p, Generator& g) {
  const double base = std::log1p(-p);
  double tried = 0, successes = 0;
  while (true) {
    tried += std::ceil(std::log(next_uniform(g)) / base);
    if (tried > count) return successes;
    successes++;
  }
}
// Hörmann's transformed rejection BTRS (1993), for count * p >= 10 and p <= 1/2.
double binomial_by_rejection(double count, double p, Generator& g) {
  const double deviation = std::sqrt(count * p * (1 - p));
  const double b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * p,
               c = count * p + 0.5;
  const double accept = 0.92 - 4.2 / b, odds = p / (1 - p), alpha = (2.83 + 5.1 / b) * deviation;
  const double mode = std::floor((count + 1) * p);
  const double top = std::lgamma(mode + 1) + std::lgamma(count - mode + 1);
  while (true) {
    const double u = next_uniform(g) - 0.5, v = next_uniform(g), us = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / us + b) * u + c);
    if (us >= 0.07 && v <= accept) return k;
    if (k < 0 || k > count) continue;
    const double bound =
        top - std::lgamma(k + 1) - std::lgamma(count - k + 1) + (k - mode) * std::log(odds);
    if (std::log(v * alpha / (a / (us * us) + b)) <= bound) return k;
  }
}
double binomial_draw(double count, double p, Generator& g) {
  if (std::isnan(count) || std::isnan(p)) return NAN;
  if (count <= 0 || p <= 0) return 0;
  if (p >= 1) return count;
  const double less = std::min(p, 1 - p);
  double k = count * less >= 10 ? binomial_by_rejection(count, less, g)
                                : binomial_by_inversion(count, less, g);
  return p <= 0.5 ? k : count - k;
}

}  // namespace

Tensor poisson(const Tensor& self, Generator* generator) {
  check<NotImplementedError>(self.is_floating(), "\"poisson_cpu\" not implemented for '",
                             type_name(self.dtype()), "'");
  Tensor out = flambeau::empty_like(self);
  if (out.is_meta() || out.numel() == 0) return out;
  Tensor rates = spread(self, out, DType::Float64);
  const double* rate = rates.data<double>();
  for (int64_t i = 0; i < rates.numel(); i++)
    check(rate[i] >= 0, "invalid Poisson rate, expected rate to be non-negative, got ", rate[i]);
  draw_serial(out, generator, [=](Generator& g, int64_t i) { return poisson_draw(rate[i], g); });
  return out;
}

Tensor binomial(const Tensor& count, const Tensor& prob, Generator* generator) {
  check<ValueError>(
      count.is_floating(),
      "binomial only supports floating-point dtypes for count, got: ", type_name(count.dtype()));
  check<ValueError>(
      prob.is_floating(),
      "binomial only supports floating-point dtypes for prob, got: ", type_name(prob.dtype()));
  Tensor out = flambeau::empty(broadcast_shapes(count.sizes(), prob.sizes()),
                               promote(count.dtype(), prob.dtype()), count.device());
  if (out.is_meta() || out.numel() == 0) return out;
  Tensor counts = spread(count, out, DType::Float64), chances = spread(prob, out, DType::Float64);
  const double *n = counts.data<double>(), *p = chances.data<double>();
  draw_serial(out, generator,
              [=](Generator& g, int64_t i) { return binomial_draw(n[i], p[i], g); });
  return out;
}

// ---- multinomial
// --------------------------------------------------------------------------------------

namespace {

// Searches cumulative sums, kept in T, with one uniform double a draw.
template <class T>
void choose_with_replacement(int64_t* out, const T* weights, int64_t rows, int64_t n,
                             int64_t samples, Generator& g) {
  std::vector<T> sums(static_cast<size_t>(n));
  for (int64_t r = 0; r < rows; r++) {
    const T* w = weights + r * n;
    T sum = 0;
    for (int64_t i = 0; i < n; i++) {
      check(w[i] >= 0, "invalid multinomial distribution (encountering probability entry < 0)");
      check(w[i] < std::numeric_limits<T>::infinity(),
            "invalid multinomial distribution (encountering probability entry = infinity or NaN)");
      sums[size_t(i)] = sum += w[i];
    }
    check(sum > 0, "invalid multinomial distribution (sum of probabilities <= 0)");
    for (auto& s : sums) s /= sum;
    sums.back() = 1;
    for (int64_t j = 0; j < samples; j++) {
      const double u = next_uniform(g);
      *out++ = std::partition_point(sums.begin(), sums.end(), [u](T s) { return double(s) < u; }) -
               sums.begin();
    }
  }
}

// The largest weights / Exp(1), which are choices without replacement (Efraimidis & Spirakis 2006).
void choose_distinct(int64_t* out, const double* keys, int64_t rows, int64_t n, int64_t samples) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  for (int64_t r = 0; r < rows; r++) {
    const double* key = keys + r * n;
    std::iota(order.begin(), order.end(), int64_t(0));
    std::partial_sort(
        order.begin(), order.begin() + samples, order.end(),
        [key](int64_t a, int64_t b) { return key[a] != key[b] ? key[a] > key[b] : a < b; });
    std::copy(order.begin(), order.begin() + samples, out + r * samples);
  }
}

void check_distinct(const double* w, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; r++) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
      const double x = w[r * n + i];
      check(x >= 0 && x < std::numeric_limits<double>::infinity(),
            "probability tensor contains either `inf`, `nan` or element < 0");
      sum += x;
    }
    check(sum > 0, "invalid multinomial distribution (sum of probabilities <= 0)");
  }
}

// weights / Exp(1), rounded to the dtype as a division of tensors is.
Tensor race_keys(const Tensor& weights, Generator* generator) {
  Tensor wide = contiguous_of(cast_of(weights, DType::Float64));
  Tensor waits = exponential_(flambeau::empty(weights.sizes(), weights.dtype()), 1, generator);
  Tensor wide_waits = cast_of(waits, DType::Float64),
         keys = flambeau::empty(weights.sizes(), DType::Float64);
  const double *w = wide.data<double>(), *q = wide_waits.data<double>();
  double* k = keys.data<double>();
  for (int64_t i = 0; i < keys.numel(); i++) k[i] = w[i] == 0 ? 0 : w[i] / q[i];
  return cast_of(cast_of(keys, weights.dtype()), DType::Float64);
}

}  // namespace

Tensor multinomial(const Tensor& self, int64_t num_samples, bool replacement,
                   Generator* generator) {
  check(self.dim() == 1 || self.dim() == 2, "prob_dist must be 1 or 2 dim, got ", self.dim());
  check(self.is_floating(), "multinomial only supports floating-point dtypes for input, got: ",
        type_name(self.dtype()));
  check(num_samples > 0, "cannot sample n_sample <= 0 samples, got num_samples=", num_samples);
  const int64_t n = self.size(-1), rows = self.dim() == 2 ? self.size(0) : 1;
  check(replacement || num_samples <= n,
        "cannot sample n_sample > prob_dist.size(-1) samples without replacement: ", num_samples,
        " > ", n);
  check(n > 0 || rows == 0, "cannot sample from prob_dist without categories: its shape is ",
        self.sizes());
  Tensor out = flambeau::empty(self.dim() == 2 ? Dims{rows, num_samples} : Dims{num_samples},
                               DType::Int64, self.device());
  if (out.is_meta() || out.numel() == 0) return out;
  if (!replacement || num_samples == 1) {
    Tensor wide = contiguous_of(cast_of(self, DType::Float64));
    check_distinct(wide.data<double>(), rows, n);
    Tensor keys = race_keys(self, generator);
    choose_distinct(out.data<int64_t>(), keys.data<double>(), rows, n, num_samples);
    return out;
  }
  Tensor weights = contiguous_of(cast_of(self, info(self.dtype()).compute));
  Generator& g = generator_of(generator);
  std::lock_guard lock(g.mutex);
  visit_float(weights.dtype(), "multinomial", [&](auto tag) {
    using T = typename decltype(tag)::type;
    choose_with_replacement<T>(out.data<int64_t>(), weights.data<T>(), rows, n, num_samples, g);
  });
  return out;
}

// ---- dropout and rrelu
// --------------------------------------------------------------------------------

namespace {

// x * (mask ? scale : 0), all in the memory order of `mask`.
Tensor masked_scale(const Tensor& x, const Tensor& mask, double scale) {
  Tensor out = flambeau::empty_like(mask, x.dtype());
  if (out.is_meta() || out.numel() == 0) return out;
  const DType compute = info(x.dtype()).compute;
  Tensor ordered = mask.is_contiguous() ? mask : permuted(mask, memory_order(mask));
  Tensor values = spread(x, mask, compute),
         result = compute == x.dtype() ? out : flambeau::empty(ordered.sizes(), compute);
  const auto f = compute == DType::Float64 ? dropout_fns().scale_double : dropout_fns().scale_float;
  const int64_t width = itemsize(compute);
  LongWork guard(out.numel() > (1 << 18));
  parallel_for(out.numel(), 1 << 14, [&](int64_t begin, int64_t end) {
    f(result.bytes() + begin * width, values.bytes() + begin * width, ordered.data<bool>() + begin,
      end - begin, scale);
    if (compute != x.dtype())
      convert_elements(out.bytes() + begin * out.itemsize(), x.dtype(),
                       result.bytes() + begin * width, compute, end - begin);
  });
  return out;
}

}  // namespace

// Elements kept with probability 1 - p and multiplied by `scale`, rounded to the input's dtype.
std::tuple<Tensor, Tensor> _dropout(const Tensor& self, double p, double scale) {
  check<NotImplementedError>(!self.is_complex(), "\"bernoulli_scalar_cpu_\" not implemented for '",
                             type_name(self.dtype()), "'");
  check(self.is_floating(), "dropout: result type Float can't be cast to the desired output type ",
        type_name(self.dtype()));
  Tensor mask = bernoulli__float(flambeau::empty_like(self, DType::Bool), 1 - p, nullptr);
  return {masked_scale(self, mask, scale), mask};
}
Tensor _dropout_backward(const Tensor& grad, const Tensor& mask, double scale) {
  check_real_floating("dropout_backward", "grad_output", grad);
  check(mask.dtype() == DType::Bool, "dropout_backward: expected a bool mask, but got ",
        mask.dtype());
  check_shape("dropout_backward", "grad_output", grad, mask.sizes());
  return masked_scale(grad, mask, scale);
}

// Negative elements times a slope drawn from [lower, upper); `noise` holds the factors.
std::tuple<Tensor, Tensor> _rrelu(const Tensor& self, double lower, double upper,
                                  Generator* generator) {
  check<NotImplementedError>(self.is_floating(),
                             "\"rrelu_with_noise_out_cpu\" not implemented for '",
                             type_name(self.dtype()), "'");
  Tensor x = contiguous_of(self),
         noise = flambeau::empty(self.sizes(), self.dtype(), self.device());
  Tensor out = flambeau::empty(self.sizes(), self.dtype(), self.device());
  if (out.is_meta()) return {out, noise};
  visit(self.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_integral_v<T> && !std::is_same_v<T, complex64_t> &&
                  !std::is_same_v<T, complex128_t>) {
      using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
      const T* in = x.data<T>();
      T *y = out.data<T>(), *factor = noise.data<T>();
      Generator& g = generator_of(generator);
      std::lock_guard lock(g.mutex);
      for (int64_t i = 0; i < x.numel(); i++) {
        const bool negative = C(in[i]) <= 0;
        factor[i] = T(C(negative ? next_uniform(g) * (upper - lower) + lower : 1.0));
        y[i] = negative ? T(C(in[i]) * C(factor[i])) : in[i];
      }
    }
  });
  return {out, noise};
}

}  // namespace kernels
}  // namespace flambeau
