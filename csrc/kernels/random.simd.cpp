#include "kernels/random_loops.h"
#include "simd/vmath.h"
#include "simd/vmath_array.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

// [0, 1) in steps of 2^-24.
FLAMBEAU_INLINE float unit(uint32_t word) { return float(int32_t(word & 0xffffffu)) * 0x1p-24f; }

// [0, 1) in steps of 2^-53. Both halves become doubles by or-ing them into 2^52; their sum is
// exact.
FLAMBEAU_INLINE double unit(uint32_t high, uint32_t low) {
  double h = bits<double>(uint64_t(high & 0x1fffffu) | 0x4330000000000000u) - 0x1p52;
  double l = bits<double>(uint64_t(low) | 0x4330000000000000u) - 0x1p52;
  return h * 0x1p-21 + l * 0x1p-53;
}

// Rounding can reach `to`, which is not in the range.
void uniform_float(void* out_bytes, const uint32_t* words, int64_t n, double a, double b) {
  float* out = static_cast<float*>(out_bytes);
  const float from = float(a), to = float(b), width = to - from;
  for (int64_t i = 0; i < n; i++) {
    float x = fma(unit(words[i]), width, from);
    out[i] = x == to ? from : x;
  }
}
void uniform_double(void* out_bytes, const uint32_t* words, int64_t n, double from, double to) {
  double* out = static_cast<double*>(out_bytes);
  const double width = to - from;
  for (int64_t i = 0; i < n; i++) {
    double x = fma(unit(words[2 * i], words[2 * i + 1]), width, from);
    out[i] = x == to ? from : x;
  }
}

FLAMBEAU_INLINE float uniform_at(const uint32_t* words, int64_t i, float) { return unit(words[i]); }
FLAMBEAU_INLINE double uniform_at(const uint32_t* words, int64_t i, double) {
  return unit(words[2 * i], words[2 * i + 1]);
}

// sin and cos of an angle in [0, 2π].
FLAMBEAU_INLINE void sincos(float x, float& s, float& c) {
  double y = double(x) * 0x1.45f306dc9c883p-1, shifted = y + kRoundMagic<double>;
  auto [sine, cosine] = sincos_reduced(y - (shifted - kRoundMagic<double>));
  uint32_t quadrant = uint32_t(bits<uint64_t>(shifted));
  s = negate_if(quadrant & 1 ? cosine : sine, quadrant << 30 & 0x80000000u);
  c = negate_if(quadrant & 1 ? sine : cosine, (quadrant + 1) << 30 & 0x80000000u);
}
FLAMBEAU_INLINE void sincos(double x, double& s, double& c) {
  s = trig_fast<0>(x);
  c = trig_fast<1>(x);
}
FLAMBEAU_INLINE float scaled(float x, float std, float mean) { return fma(x, std, mean); }
FLAMBEAU_INLINE double scaled(double x, double std, double mean) { return x * std + mean; }

// The first eight uniforms of a block give the radii, the last eight the angles.
template <class T>
void normal_blocks(void* out_bytes, const uint32_t* words, int64_t n, double a, double b) {
  constexpr int64_t pairs = 128;
  T* out = static_cast<T*>(out_bytes);
  const T mean = T(a), std = T(b);
  T u[pairs], v[pairs];
  for (int64_t start = 0; start < n; start += 2 * pairs) {
    const int64_t count = (n - start < 2 * pairs ? n - start : 2 * pairs) / 2;
    for (int64_t block = 0; block < count; block += 8) {
      for (int64_t j = 0; j < 8; j++) {
        u[block + j] = T(1) - uniform_at(words, start + 2 * block + j, T());
        v[block + j] = uniform_at(words, start + 2 * block + 8 + j, T());
      }
    }
#pragma GCC ivdep
    for (int64_t i = 0; i < count; i++) {
      T radius = sqrt(T(-2) * log(u[i])), s, c;
      sincos(T(0x1.921fb54442d18p2) * v[i], s, c);
      u[i] = scaled(radius * c, std, mean);
      v[i] = scaled(radius * s, std, mean);
    }
    for (int64_t block = 0; block < count; block += 8) {
      for (int64_t j = 0; j < 8; j++) {
        out[start + 2 * block + j] = u[block + j];
        out[start + 2 * block + 8 + j] = v[block + j];
      }
    }
  }
}

void exponential(void* out_bytes, const uint32_t* words, int64_t n, double lambda, double) {
  double* out = static_cast<double*>(out_bytes);
  const double scale = -1.0 / lambda;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) {
    out[i] = scale * log1p(-unit(words[2 * i], words[2 * i + 1]));
  }
}
void geometric(void* out_bytes, const uint32_t* words, int64_t n, double p, double) {
  double* out = static_cast<double*>(out_bytes);
  const double base = __builtin_log1p(-p);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) {
    out[i] = ceil(log(unit(words[2 * i], words[2 * i + 1])) / base);
  }
}
void cauchy(void* out_bytes, const uint32_t* words, int64_t n, double median, double sigma) {
  double* out = static_cast<double*>(out_bytes);
  constexpr double eps = 0x1p-52;
  for (int64_t i = 0; i < n; i++) {
    double u = clamp(unit(words[2 * i], words[2 * i + 1]), eps, 1.0 - eps);
    out[i] = median + sigma * __builtin_tan(0x1.921fb54442d18p1 * (u - 0.5));
  }
}
void bernoulli(void* out_bytes, const uint32_t* words, int64_t n, double p, double) {
  bool* out = static_cast<bool*>(out_bytes);
  for (int64_t i = 0; i < n; i++) out[i] = unit(words[2 * i], words[2 * i + 1]) < p;
}

template <class T>
void masked_scale(void* out_bytes, const void* x_bytes, const bool* mask, int64_t n,
                  double factor) {
  T* out = static_cast<T*>(out_bytes);
  const T* x = static_cast<const T*>(x_bytes);
  const T scale = T(factor);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) out[i] = x[i] * (mask[i] ? scale : T(0));
}

}  // namespace

extern const RandomFns random_table[1];
const RandomFns random_table[1] = {{uniform_float, uniform_double, normal_blocks<float>,
                                    normal_blocks<double>, exponential, geometric, cauchy,
                                    bernoulli}};
extern const DropoutFns dropout_table[1];
const DropoutFns dropout_table[1] = {{masked_scale<float>, masked_scale<double>}};

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
