// In-place random operators and the factories built on them.
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/random_draw.h"
#include "kernels/targets.h"
#include "ops/all.h"

namespace flambeau {

#define FLAMBEAU_DECLARE(ns)              \
  namespace ns {                          \
  extern const RandomFns random_table[1]; \
  }
FLAMBEAU_DECLARE(baseline)
FLAMBEAU_DECLARE(avx2)
FLAMBEAU_DECLARE(avx512)
#undef FLAMBEAU_DECLARE

const RandomFns& random_fns() {
  static const RandomFns* const tables[3] = {FLAMBEAU_TABLE_BASELINE(random_table, 0),
                                             FLAMBEAU_TABLE_AVX2(random_table, 0),
                                             FLAMBEAU_TABLE_AVX512(random_table, 0)};
  return *tables[chosen_target()];
}

const char* type_name(DType t) { return info(t).scalar_type; }

Dims memory_order(const Tensor& t) {
  Dims order;
  for (int64_t d = 0; d < t.dim(); d++) order.push_back(d);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return t.strides()[size_t(a)] > t.strides()[size_t(b)];
  });
  return order;
}

Tensor permuted(const Tensor& t, IntSpan order) {
  Dims sizes, strides;
  for (int64_t d : order) {
    sizes.push_back(t.sizes()[size_t(d)]);
    strides.push_back(t.strides()[size_t(d)]);
  }
  return alias(t, sizes, strides, t.offset());
}

// Box and Muller's pair, of which the second half waits for the next call.
double next_normal(Generator& g) {
  if (g.next_double_normal) {
    double value = *g.next_double_normal;
    g.next_double_normal.reset();
    return value;
  }
  double angle = 2 * std::numbers::pi * next_uniform(g);
  double radius = std::sqrt(-2 * std::log1p(-next_uniform(g)));
  g.next_double_normal = radius * std::sin(angle);
  return radius * std::cos(angle);
}

namespace kernels {
namespace {

void check_supported(bool ok, const char* kernel, DType t) {
  check<NotImplementedError>(ok, "\"", kernel, "\" not implemented for '", type_name(t), "'");
}
void check_continuous(const char* op, const char* title, DType t) {
  check(is_floating(t), title,
        " distribution is a continuous probability distribution. dtype must be a floating point "
        "but you specified ",
        type_name(t), " (", op, ")");
}
// C++ names, as PyTorch's messages on bounds give them.
const char* bound_name(DType t) {
  if (is_storage_only(t)) return info(t).name;
  static const char* const names[kNumDTypes] = {
      "bool",      "unsigned char", "signed char", "short",  "int", "long",
      "c10::Half", "c10::BFloat16", "float",       "double", "",    ""};
  return names[int(t)];
}

struct Limits {
  double low, high;
};
Limits limits(DType t) {
  switch (t) {
    case DType::Bool:
      return {0, 1};
    case DType::UInt8:
      return {0, 255};
    case DType::Int8:
      return {-0x1p7, 0x1p7 - 1};
    case DType::Int16:
      return {-0x1p15, 0x1p15 - 1};
    case DType::Int32:
      return {-0x1p31, 0x1p31 - 1};
    case DType::Int64:
      return {-0x1p63, 0x1p63};
    case DType::Float16:
      return {-65504, 65504};
    case DType::BFloat16:
      return {-0x1.fep127, 0x1.fep127};
    case DType::Float32:
      return {-std::numeric_limits<float>::max(), std::numeric_limits<float>::max()};
    default:
      return {-std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
  }
}
// Bits of a floating type's significand.
int digits(DType t) {
  switch (t) {
    case DType::Float16:
      return 11;
    case DType::BFloat16:
      return 8;
    case DType::Float32:
      return 24;
    default:
      return 53;
  }
}
int64_t largest_drawn(DType t) {
  if (is_floating(t)) return int64_t(1) << digits(t);
  return t == DType::Int64 ? std::numeric_limits<int64_t>::max() : int64_t(limits(t).high);
}
double rounded(double x, DType t) {
  double out = 0;
  convert_elements(&out, t, &x, DType::Float64, 1);
  convert_elements(&x, DType::Float64, &out, t, 1);
  return x;
}

// x = base + word mod range, or a whole 64-bit word for range 0; two words where `wide`.
void draw_integers(const Tensor& self, Generator* generator, uint64_t range, int64_t base,
                   bool wide) {
  draw(self, generator, DType::Int64, wide ? 2 : 1,
       [=](void* out, const uint32_t* words, int64_t n, int64_t) {
         int64_t* x = static_cast<int64_t*>(out);
         if (!wide) {
           const uint32_t narrow = uint32_t(range);
           for (int64_t i = 0; i < n; i++) x[i] = base + int64_t(words[i] % narrow);
           return;
         }
         for (int64_t i = 0; i < n; i++) {
           uint64_t word = uint64_t(words[2 * i]) << 32 | words[2 * i + 1];
           x[i] = int64_t((range ? word % range : word) + uint64_t(base));
         }
       });
}
// Ranges from 2^28 on take 64 bits, so that the bias of the remainder stays small.
void draw_range(const Tensor& self, Generator* generator, uint64_t range, int64_t base) {
  draw_integers(self, generator, range, base, range >= uint64_t(1) << 28);
}

void check_random_dtype(DType t) {
  check(!is_complex(t),
        "check_random_bounds handles only integral, floating-point and boolean types, got ", t);
}
void check_bound(const char* what, int64_t value, DType t) {
  Limits l = limits(t);
  check(double(value) >= l.low && double(value) <= l.high, what, " is out of bounds for ",
        bound_name(t), ": ", value);
}

// Bounds that a floating type cannot tell from their neighbours move inwards by one step.
int64_t step_near(int64_t value, DType t) {
  return int64_t(1) << (63 - __builtin_clzll(uint64_t(std::abs(value))) - digits(t) + 1);
}
int64_t inner_from(int64_t from, DType t) {
  int64_t next = int64_t(rounded(double(from + 1), t));
  return next < from ? next + step_near(from + 1, t) : from;
}
int64_t inner_to(int64_t to, DType t) {
  int64_t last = int64_t(rounded(double(to - 1), t));
  return last >= to ? last - step_near(to - 1, t) : to;
}

void random_range(const Tensor& self, int64_t from, int64_t to, Generator* generator) {
  check(from < to, "random_ expects 'from' to be less than 'to', but got from=", from,
        " >= to=", to);
  check_random_dtype(self.dtype());
  if (is_floating(self.dtype())) {
    from = inner_from(from, self.dtype());
    to = inner_to(to, self.dtype());
    check(from < to,
          "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got "
          "from=",
          from, " >= to=", to);
  }
  check_bound("from", from, self.dtype());
  check_bound("to - 1", to - 1, self.dtype());
  draw_range(self, generator, uint64_t(to) - uint64_t(from), from);
}

}  // namespace

Tensor uniform_(const Tensor& self, double from, double to, Generator* generator) {
  if (self.is_complex()) {
    uniform_(view_as_real(self), from, to, generator);
    return self;
  }
  const DType t = self.dtype(), compute = info(t).compute;
  check_supported(self.is_floating(), "check_uniform_bounds", t);
  const Limits l = limits(t);
  check(from >= l.low && from <= l.high, "from is out of bounds for ", bound_name(t), ": ", from);
  check(to >= l.low && to <= l.high, "to is out of bounds for ", bound_name(t), ": ", to);
  check(from <= to, "uniform_ expects to return a [from, to) range, but found from=", from,
        " > to=", to);
  check(to - from <= l.high, "uniform_ expects to-from <= std::numeric_limits<", type_name(t),
        ">::max(), but found to=", to, " and from=", from,
        " which result in to-from to exceed the limit");
  check_overlap("uniform_", self, self);
  if (compute == DType::Float64) {
    draw(self, generator, compute, 2, [=](void* out, const uint32_t* words, int64_t n, int64_t) {
      random_fns().uniform_double(out, words, n, from, to);
    });
    return self;
  }
  const double end = rounded(to, t);
  draw(self, generator, compute, 1, [=](void* out, const uint32_t* words, int64_t n, int64_t) {
    random_fns().uniform_float(out, words, n, from, to);
    if (t == compute) return;
    float* x = static_cast<float*>(out);
    for (int64_t i = 0; i < n; i++) {  // the 16-bit types round to `to` more often
      float near = t == DType::Float16 ? float(half_t(x[i])) : float(bfloat16_t(x[i]));
      if (near == float(end)) x[i] = float(from);
    }
  });
  return self;
}

Tensor normal_(const Tensor& self, double mean, double std, Generator* generator) {
  check(std >= 0.0, "normal expects std >= 0.0, but found std ", std);
  if (self.is_complex()) {  // half of the variance in each part
    normal_(view_as_real(self), mean, std / std::numbers::sqrt2, generator);
    return self;
  }
  check_supported(self.is_floating(), "normal_kernel_cpu", self.dtype());
  check_overlap("normal_", self, self);
  const int64_t n = self.numel();
  if (n < 16 || !self.is_contiguous()) {
    draw_serial(self, generator,
                [=](Generator& g, int64_t) { return next_normal(g) * std + mean; });
    return self;
  }
  const DType t = self.dtype(), compute = info(t).compute;
  const int64_t per = compute == DType::Float64 ? 2 : 1, whole = n / 16 * 16;
  auto loop = [=](void* out, const uint32_t* words, int64_t count, int64_t) {
    (per == 2 ? random_fns().normal_double : random_fns().normal_float)(out, words, count, mean,
                                                                        std);
  };
  fill_contiguous(self, generator, [&](char* out, Generator& g) {
    draw_contiguous(g, out, t, compute, whole, per, loop);
    if (whole == n) return;
    // The last 16 elements are drawn anew; 32 and 64 bit types have by then used up words for every
    // element.
    uint32_t unused[32];
    if (t == compute) g.random_words(unused, size_t((n - whole) * per));
    draw_contiguous(g, out + (n - 16) * self.itemsize(), t, compute, 16, per, loop);
  });
  return self;
}

Tensor exponential_(const Tensor& self, double lambd, Generator* generator) {
  check(lambd > 0.0, "exponential_ expects lambda > 0.0, but found lambda=", lambd);
  check_continuous("exponential_", "Exponential", self.dtype());
  check_overlap("exponential_", self, self);
  draw(self, generator, DType::Float64, 2,
       [=](void* out, const uint32_t* words, int64_t n, int64_t) {
         random_fns().exponential(out, words, n, lambd, 0);
       });
  return self;
}

Tensor geometric_(const Tensor& self, double p, Generator* generator) {
  check(0 < p && p < 1, "geometric_ expects p to be in (0, 1), but got p=", p);
  check_supported(self.dtype() != DType::Bool && !self.is_complex(), "geometric_cpu", self.dtype());
  check_overlap("geometric_", self, self);
  draw(self, generator, DType::Float64, 2,
       [=](void* out, const uint32_t* words, int64_t n, int64_t) {
         random_fns().geometric(out, words, n, p, 0);
       });
  return self;
}

Tensor cauchy_(const Tensor& self, double median, double sigma, Generator* generator) {
  check(sigma > 0.0, "cauchy_ expects sigma > 0.0, but found sigma=", sigma);
  check_continuous("cauchy_", "Cauchy", self.dtype());
  check_overlap("cauchy_", self, self);
  draw(self, generator, DType::Float64, 2,
       [=](void* out, const uint32_t* words, int64_t n, int64_t) {
         random_fns().cauchy(out, words, n, median, sigma);
       });
  return self;
}

Tensor log_normal_(const Tensor& self, double mean, double std, Generator* generator) {
  check(std > 0.0, "log_normal_ expects std > 0.0, but found std=", std);
  check_supported(self.is_floating(), "log_normal_cpu", self.dtype());
  check_overlap("log_normal_", self, self);
  draw_serial(self, generator,
              [=](Generator& g, int64_t) { return std::exp(next_normal(g) * std + mean); });
  return self;
}

Tensor bernoulli__float(const Tensor& self, double p, Generator* generator) {
  check(0 <= p && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=", p);
  check_supported(!self.is_complex(), "bernoulli_scalar_cpu_", self.dtype());
  check_overlap("bernoulli_", self, self);
  draw(self, generator, DType::Bool, 2, [=](void* out, const uint32_t* words, int64_t n, int64_t) {
    random_fns().bernoulli(out, words, n, p, 0);
  });
  return self;
}

// ---- integers
// ----------------------------------------------------------------------------------------

Tensor random_(const Tensor& self, Generator* generator) {
  check_supported(!self.is_complex(), "random_kernel_cpu", self.dtype());
  check_overlap("random_", self, self);
  const uint64_t range = uint64_t(largest_drawn(self.dtype())) + 1;
  draw_integers(self, generator, range, 0, self.itemsize() == 8);
  return self;
}
Tensor random__from(const Tensor& self, int64_t from, std::optional<int64_t> to,
                    Generator* generator) {
  check_overlap("random_", self, self);
  if (to) {
    random_range(self, from, *to, generator);
    return self;
  }
  check_random_dtype(self.dtype());
  if (from == std::numeric_limits<int64_t>::min()) {  // all 64 bits
    const DType t = self.dtype();
    check_supported(t == DType::Int64 || (is_floating(t) && t != DType::Float16),
                    "random_full_64_bits_range_kernel_cpu", t);
    draw_integers(self, generator, 0, 0, true);
    return self;
  }
  const int64_t last = largest_drawn(self.dtype());
  if (is_floating(self.dtype())) from = inner_from(from, self.dtype());
  check_bound("from", from, self.dtype());
  check(from <= last,
        "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to "
        "dtype, but got from=",
        from, " > to_inc=", last);
  draw_range(self, generator, uint64_t(last) - uint64_t(from) + 1, from);
  return self;
}
Tensor random__to(const Tensor& self, int64_t to, Generator* generator) {
  return random__from(self, 0, to, generator);
}

// ---- factories
// ---------------------------------------------------------------------------------------

Tensor rand(const Dims& size, Generator* g, std::optional<DType> dtype,
            std::optional<Device> device) {
  return uniform_(empty(size, dtype, device, std::nullopt), 0, 1, g);
}
Tensor randn(const Dims& size, Generator* g, std::optional<DType> dtype,
             std::optional<Device> device) {
  return normal_(empty(size, dtype, device, std::nullopt), 0, 1, g);
}
Tensor randint_low(int64_t low, int64_t high, const Dims& size, Generator* g,
                   std::optional<DType> dtype, std::optional<Device> device) {
  return random__from(empty(size, dtype.value_or(DType::Int64), device, std::nullopt), low, high,
                      g);
}
Tensor rand_like(const Tensor& self, Generator* g, std::optional<DType> dtype,
                 std::optional<Device> device, std::optional<MemoryFormat> format) {
  return uniform_(empty_like(self, dtype, device, format), 0, 1, g);
}
Tensor randn_like(const Tensor& self, Generator* g, std::optional<DType> dtype,
                  std::optional<Device> device, std::optional<MemoryFormat> format) {
  return normal_(empty_like(self, dtype, device, format), 0, 1, g);
}
Tensor randint_like_low(const Tensor& self, int64_t low, int64_t high, Generator* g,
                        std::optional<DType> dtype, std::optional<Device> device,
                        std::optional<MemoryFormat> format) {
  return random__from(empty_like(self, dtype, device, format), low, high, g);
}
Tensor normal_float_float(double mean, double std, const Dims& size, Generator* g,
                          std::optional<DType> dtype, std::optional<Device> device) {
  return normal_(empty(size, dtype, device, std::nullopt), mean, std, g);
}

Tensor randperm(int64_t n, Generator* generator, std::optional<DType> dtype,
                std::optional<Device> device) {
  const DType t = dtype.value_or(DType::Int64);
  check(n >= 0, "n must be non-negative, got ", n);
  check_supported(t != DType::Bool && !is_complex(t), "randperm", t);
  check(double(n) - 1 <= (is_floating(t) ? double(largest_drawn(t)) : limits(t).high),
        "n cannot be greater than ", double(largest_drawn(t)) + 1, " for ", type_name(t),
        " type: the value cannot be converted to ", t, " without overflow (randperm(", n, "))");
  Tensor out = flambeau::empty(Dims{n}, t, device.value_or(Device{}));
  if (out.is_meta() || n == 0) return out;
  Tensor wide = t == DType::Int64 ? out : flambeau::empty(Dims{n}, DType::Int64);
  int64_t* x = wide.data<int64_t>();
  for (int64_t i = 0; i < n; i++) x[i] = i;
  {
    Generator& g = generator_of(generator);
    std::lock_guard lock(g.mutex);
    for (int64_t i = 0; i < n - 1; i++)
      std::swap(x[i], x[i + int64_t(g.random() % uint64_t(n - i))]);
  }
  if (!wide.is_same(out)) copy_kernel(out, wide);
  return out;
}

}  // namespace kernels
}  // namespace flambeau
