// Checks the vector math: largest error in units of the last place against libm in the next wider
// type, equality to the bit of all instruction sets, and ns per element of L1-resident data.
//   vmath_accuracy [samples = 20000000] [only = a function's name]
// Exit status 1 when an error is above its limit or two targets differ. Targets that this CPU
// lacks are skipped.
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "vmath_loops.h"

constexpr size_t kBlock = 2048;

template <class T>
struct Reference {
  using Wide = std::conditional_t<sizeof(T) == 4, double, long double>;
  const char* name;
  double limit;  // ULP
  Wide (*unary)(Wide);
  Wide (*binary)(Wide, Wide);
};

template <class W>
W sigmoid_reference(W x) {
  return 1 / (1 + std::exp(-x));
}

#define ONE(name, limit, expression) {name, limit, [](W x) -> W { return expression; }, nullptr}
#define TWO(name, limit, expression) \
  {name, limit, nullptr, [](W x, W y) -> W { return expression; }}

template <class W>
W wrapped_remainder(W x, W y) {
  W r = std::fmod(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

using W = double;
static const Reference<float> kFloat[] = {
    ONE("exp", 2, std::exp(x)),
    ONE("exp2", 2, std::exp2(x)),
    ONE("expm1", 2, std::expm1(x)),
    ONE("log", 2, std::log(x)),
    ONE("log2", 2, std::log2(x)),
    ONE("log10", 2, std::log10(x)),
    ONE("log1p", 2, std::log1p(x)),
    ONE("sin", 2, std::sin(x)),
    ONE("cos", 2, std::cos(x)),
    ONE("tan", 2, std::tan(x)),
    ONE("asin", 2, std::asin(x)),
    ONE("acos", 2, std::acos(x)),
    ONE("atan", 2, std::atan(x)),
    ONE("sinh", 2, std::sinh(x)),
    ONE("cosh", 2, std::cosh(x)),
    ONE("tanh", 2, std::tanh(x)),
    ONE("asinh", 2, std::asinh(x)),
    ONE("acosh", 2, std::acosh(x)),
    ONE("atanh", 2, std::atanh(x)),
    ONE("sigmoid", 2, sigmoid_reference(x)),
    ONE("erf", 2, std::erf(x)),
    ONE("erfc", 2, std::erfc(x)),
    ONE("sqrt", 0.5, std::sqrt(x)),
    ONE("rsqrt", 2, 1 / std::sqrt(x)),
    ONE("normal_cdf", 2, 0.5 * std::erfc(-x * M_SQRT1_2)),
    ONE("floor", 0, std::floor(x)),
    ONE("ceil", 0, std::ceil(x)),
    ONE("trunc", 0, std::trunc(x)),
    ONE("round", 0, std::nearbyint(x)),
    ONE("logsigmoid", 3, std::fmin(x, 0.0) - std::log1p(std::exp(-std::fabs(x)))),
    /* ULPs of a subnormal sigmoid */ ONE("silu", 64, x / (1 + std::exp(-x))),
    ONE("lgamma", 1, std::lgamma(x)),
    TWO("pow", 2, std::pow(x, y)),
    TWO("atan2", 2, std::atan2(x, y)),
    TWO("hypot", 1, std::hypot(x, y)),
    TWO("fmod", 0, std::fmod(x, y)),
    TWO("remainder", 1, wrapped_remainder(x, y)),
};
#undef ONE
#undef TWO
#define ONE(name, limit, expression) {name, limit, [](L x) -> L { return expression; }, nullptr}
using L = long double;
static const Reference<double> kDouble[] = {
    ONE("exp", 2, std::exp(x)),         ONE("expm1", 2, std::expm1(x)),
    ONE("log", 2, std::log(x)),         ONE("log1p", 2, std::log1p(x)),
    ONE("sin", 2, std::sin(x)),         ONE("cos", 2, std::cos(x)),
    ONE("tanh", 2, std::tanh(x)),       ONE("sigmoid", 2, sigmoid_reference(x)),
    ONE("erf", 2, std::erf(x)),         ONE("erfc", 4, std::erfc(x)),
    ONE("rsqrt", 2, 1 / std::sqrt(x)),  ONE("sin_array", 2, std::sin(x)),
    ONE("cos_array", 2, std::cos(x)),   ONE("floor", 0, std::floor(x)),
    ONE("ceil", 0, std::ceil(x)),       ONE("trunc", 0, std::trunc(x)),
    ONE("round", 0, std::nearbyint(x)),
};
#undef ONE

template <class T, class Wide>
double ulp_error(T got, Wide want) {
  T rounded = T(want);
  if (got != got || want != want) return (got != got) == (want != want) ? 0 : INFINITY;
  if (got == rounded) {
    if (want == 0 && std::signbit(got) != std::signbit(want)) return INFINITY;
    if (std::isinf(got)) return 0;
  } else if (std::isinf(got) || std::isinf(rounded)) {
    // Next to the overflow threshold an infinity is one step away from the largest number.
    return std::abs(double(got)) >= double(std::numeric_limits<T>::max()) &&
                   std::abs(double(rounded)) >= double(std::numeric_limits<T>::max())
               ? 1
               : INFINITY;
  }
  T a = std::fabs(rounded);
  int exponent =
      a > std::numeric_limits<T>::min() ? std::ilogb(a) : std::ilogb(std::numeric_limits<T>::min());
  Wide ulp = std::ldexp(Wide(1), exponent - (std::numeric_limits<T>::digits - 1));
  return double(std::fabs(Wide(got) - want) / ulp);
}

static uint64_t mix(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

// Sample i: every bit pattern in turn (float, strided), then numbers of ordinary size.
static void sample(float* x, uint64_t i, uint64_t count, uint64_t seed) {
  static const float special[] = {
      0.0f,      -0.0f,      1.0f,       -1.0f,           0.5f,
      -0.5f,     2.0f,       INFINITY,   -INFINITY,       NAN,
      0x1p-149f, -0x1p-149f, 0x1p-126f,  0x1.fffffep127f, -0x1.fffffep127f,
      88.72283f, 88.72284f,  -87.33655f, -103.97208f,     3.0f,
      -3.0f,     3.1415927f, 1.5707964f, 0x1p23f,         0x1p24f};
  constexpr uint64_t num_special = sizeof(special) / sizeof(float);
  uint64_t r = mix(i * 2 + seed);
  if (i < 4096)
    *x = special[(seed ? i / num_special : i) % num_special];
  else if (i % 4 == 3)
    *x = std::ldexp(float(int32_t(r >> 40)) - 0x1p23f, int(r & 15) - 28);
  else
    *x = std::bit_cast<float>(uint32_t(seed ? r : i * ((uint64_t(1) << 32) / count) + (r & 127)));
}
static void sample(double* x, uint64_t i, uint64_t count, uint64_t seed) {
  float f;
  sample(&f, i, count, seed);
  uint64_t r = mix(i * 2 + seed + 7);
  if (i < 4096)
    *x = f;
  else if (i % 2)
    *x = std::bit_cast<double>(std::bit_cast<uint64_t>(double(f)) ^ (r & 0x1fffffff));
  else
    *x = std::bit_cast<double>(r);
}

template <class T>
double time_loop(const MathLoop<T>& loop, double low, double high) {
  std::vector<T> a(kBlock), b(kBlock), out(kBlock);
  for (size_t i = 0; i < kBlock; i++) {
    a[i] = T(low + (high - low) * double(mix(i) >> 11) * 0x1p-53);
    b[i] = T(low + (high - low) * double(mix(i + kBlock) >> 11) * 0x1p-53);
  }
  double best = 1e9;
  for (int round = 0; round < 5; round++) {
    auto start = std::chrono::steady_clock::now();
    int repeats = 40;
    for (int k = 0; k < repeats; k++) {
      if (loop.unary)
        loop.unary(out.data(), a.data(), kBlock);
      else
        loop.binary(out.data(), a.data(), b.data(), kBlock);
    }
    std::chrono::duration<double> t = std::chrono::steady_clock::now() - start;
    best = std::min(best, t.count() / repeats / kBlock * 1e9);
  }
  return best;
}

template <class T>
struct Checked {
  double ulp = 0, at = 0, at2 = 0;
  bool equal = true;
};

template <class T>
Checked<T> check(const std::vector<const MathLoop<T>*>& targets, const Reference<T>* reference,
                 uint64_t count) {
  std::vector<T> a(kBlock), b(kBlock), out(kBlock), other(kBlock);
  Checked<T> result;
  for (uint64_t start = 0; start < count; start += kBlock) {
    for (size_t i = 0; i < kBlock; i++) {
      sample(&a[i], start + i, count, 0);
      sample(&b[i], start + i, count, 1000003);
    }
    for (size_t t = 0; t < targets.size(); t++) {
      T* to = t ? other.data() : out.data();
      if (targets[t]->unary)
        targets[t]->unary(to, a.data(), kBlock);
      else
        targets[t]->binary(to, a.data(), b.data(), kBlock);
      for (size_t i = 0; t && i < kBlock; i++) {
        if (std::memcmp(&out[i], &other[i], sizeof(T)) == 0) continue;
        if (out[i] != out[i] && other[i] != other[i]) continue;  // the sign of a NaN is free
        if (result.equal) {
          std::printf("  %s: target %zu: f(%a, %a) = %a, not %a\n", targets[0]->name, t,
                      double(a[i]), double(b[i]), double(other[i]), double(out[i]));
        }
        result.equal = false;
      }
    }
    for (size_t i = 0; reference && i < kBlock; i++) {
      auto want = reference->unary ? reference->unary(a[i]) : reference->binary(a[i], b[i]);
      double e = ulp_error(out[i], want);
      if (e > result.ulp) result.ulp = e, result.at = double(a[i]), result.at2 = double(b[i]);
    }
  }
  return result;
}

template <class T, size_t N>
bool run(const std::vector<const MathLoops*>& targets, const Reference<T> (&references)[N],
         const MathLoop<T>* MathLoops::* table, size_t MathLoops::* size, uint64_t count,
         const char* only) {
  bool good = true;
  std::printf("%-22s %9s %6s %-8s", sizeof(T) == 4 ? "float" : "double", "max ULP", "limit",
              "targets");
  for (auto* t : targets) std::printf(" %9s", t->target);
  std::printf("  (ns)\n");
  for (size_t f = 0; f < targets[0]->*size; f++) {
    std::vector<const MathLoop<T>*> loops;
    for (auto* t : targets) loops.push_back(&(t->*table)[f]);
    const char* name = loops[0]->name;
    if (only && std::strcmp(only, name)) continue;
    const Reference<T>* reference = nullptr;
    for (auto& r : references) {
      if (!std::strcmp(r.name, name)) reference = &r;
    }
    auto result = check<T>(loops, reference, reference ? count : count / 4);
    bool ok = result.equal && (!reference || result.ulp <= reference->limit);
    good = good && ok;
    std::printf("%-22s ", name);
    if (reference)
      std::printf("%9.3f %6.1f ", result.ulp, reference->limit);
    else
      std::printf("%9s %6s ", "-", "-");
    std::printf("%-8s", result.equal ? "equal" : "DIFFER");
    for (auto* l : loops) std::printf(" %9.3f", time_loop(*l, 0.1, 0.9));
    if (!ok) std::printf("  FAILED at (%a, %a)", result.at, result.at2);
    std::printf("\n");
    std::fflush(stdout);
  }
  return good;
}

int main(int argc, char** argv) {
  uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20000000;
  const char* only = argc > 2 ? argv[2] : nullptr;
  std::vector<const MathLoops*> targets = {&loops_baseline};
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    targets.push_back(&loops_avx2);
  }
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")) {
    targets.push_back(&loops_avx512);
  }
  bool floats = run(targets, kFloat, &MathLoops::floats, &MathLoops::num_floats, count, only);
  bool doubles =
      run(targets, kDouble, &MathLoops::doubles, &MathLoops::num_doubles, count / 4, only);
  return floats && doubles ? 0 : 1;
}
