// Weighted sums of elements of rows, and of rows.
#include "kernels/resample_table.h"
#include "simd/target.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

// As many outputs of `begin` on as fill whole vectors; the compiler makes no gathers of the loop
// below. Returns the first that is left.
template <class T, bool Weighted>
int64_t by_gather(const T*, const Taps<T>&, T*, int64_t begin, int64_t) {
  return begin;
}
#if defined(__AVX512F__)
template <bool Weighted>
int64_t gather_floats(const float* x, const Taps<float>& t, float* out, int64_t i, int64_t end) {
  for (; i + 16 <= end; i += 16) {
    __m512 sum = _mm512_setzero_ps();
    for (int64_t k = 0; k < t.taps; k++) {
      const __m512i at = _mm512_loadu_si512(t.at + k * t.out + i);
      const __mmask16 inside = _mm512_cmpge_epi32_mask(at, _mm512_setzero_si512());
      __m512 v = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), inside, at, x, 4);
      if (Weighted) v = _mm512_mul_ps(_mm512_loadu_ps(t.weight + k * t.out + i), v);
      sum = _mm512_mask_add_ps(sum, inside, sum, v);
    }
    _mm512_storeu_ps(out + i, sum);
  }
  return i;
}
#define FLAMBEAU_GATHERS
#elif defined(__AVX2__)
FLAMBEAU_INLINE __m256i positions(const int32_t* at) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}
// Pairs of neighbours at eight positions: the first ones and the second ones.
FLAMBEAU_INLINE void pairs(const float* x, const int32_t* at, __m256& first, __m256& second) {
  auto two = [&](int i) {
    const __m128 low = _mm_castpd_ps(_mm_load_sd(reinterpret_cast<const double*>(x + at[i])));
    return _mm_loadh_pi(low, reinterpret_cast<const __m64*>(x + at[i + 1]));
  };
  const __m256 a = _mm256_set_m128(two(4), two(0)), b = _mm256_set_m128(two(6), two(2));
  first = _mm256_shuffle_ps(a, b, 0x88);
  second = _mm256_shuffle_ps(a, b, 0xdd);
}
// Eight outputs of four taps, when those are two pairs of neighbours inside.
FLAMBEAU_INLINE bool by_pairs(const float* x, const Taps<float>& t, float* out, int64_t i) {
  const int32_t* at = t.at + i;
  const int64_t n = t.out;
  const __m256i a = positions(at), c = positions(at + 2 * n), one = _mm256_set1_epi32(1);
  const __m256i outside = _mm256_or_si256(
      _mm256_or_si256(_mm256_xor_si256(_mm256_add_epi32(a, one), positions(at + n)),
                      _mm256_xor_si256(_mm256_add_epi32(c, one), positions(at + 3 * n))),
      _mm256_srai_epi32(_mm256_or_si256(a, c), 31));
  if (!_mm256_testz_si256(outside, outside)) return false;
  __m256 v[4], sum = _mm256_setzero_ps();
  pairs(x, at, v[0], v[1]);
  pairs(x, at + 2 * n, v[2], v[3]);
  for (int k = 0; k < 4; k++)
    sum = _mm256_add_ps(sum, _mm256_mul_ps(_mm256_loadu_ps(t.weight + k * n + i), v[k]));
  _mm256_storeu_ps(out + i, sum);
  return true;
}
template <bool Weighted>
int64_t gather_floats(const float* x, const Taps<float>& t, float* out, int64_t i, int64_t end) {
  for (; i + 8 <= end; i += 8) {
    if (Weighted && t.taps == 4 && by_pairs(x, t, out, i)) continue;
    __m256 sum = _mm256_setzero_ps();
    for (int64_t k = 0; k < t.taps; k++) {
      const __m256i at = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(t.at + k * t.out + i));
      const __m256 inside = _mm256_castsi256_ps(_mm256_cmpgt_epi32(at, _mm256_set1_epi32(-1)));
      __m256 v = _mm256_mask_i32gather_ps(_mm256_setzero_ps(), x, at, inside, 4);
      if (Weighted) v = _mm256_mul_ps(_mm256_loadu_ps(t.weight + k * t.out + i), v);
      sum = _mm256_blendv_ps(sum, _mm256_add_ps(sum, v), inside);
    }
    _mm256_storeu_ps(out + i, sum);
  }
  return i;
}
#define FLAMBEAU_GATHERS
#endif
#ifdef FLAMBEAU_GATHERS
template <>
int64_t by_gather<float, true>(const float* x, const Taps<float>& t, float* out, int64_t begin,
                               int64_t end) {
  return gather_floats<true>(x, t, out, begin, end);
}
template <>
int64_t by_gather<float, false>(const float* x, const Taps<float>& t, float* out, int64_t begin,
                                int64_t end) {
  return gather_floats<false>(x, t, out, begin, end);
}
#endif

template <class T, int K, bool Weighted>
void by_position(const T* x, const Taps<T>& t, T* __restrict out, int64_t begin, int64_t end) {
  begin = by_gather<T, Weighted>(x, t, out, begin, end);
  if (K == 0) {
    for (int64_t i = begin; i < end; i++) out[i] = T(0);
    for (int64_t k = 0; k < t.taps; k++)
      for (int64_t i = begin; i < end; i++) {
        const int32_t at = t.at[k * t.out + i];
        const T v = x[at < 0 ? 0 : at], w = Weighted ? t.weight[k * t.out + i] : T(1);
        out[i] = at < 0 ? out[i] : out[i] + w * v;
      }
    return;
  }
  for (int64_t i = begin; i < end; i++) {
    T sum = T(0);
    for (int64_t k = 0; k < K; k++) {
      const int32_t at = t.at[k * t.out + i];
      const T v = x[at < 0 ? 0 : at], w = Weighted ? t.weight[k * t.out + i] : T(1);
      sum = at < 0 ? sum : sum + w * v;
    }
    out[i] = sum;
  }
}

// The outputs of even steps; Phases * q + p from x[Step * q].
template <class T, int K, int Phases, int Step, bool Weighted>
void by_step(const T* x, const Taps<T>& t, T* __restrict out) {
  const int64_t n = (t.high - t.low) / Phases;
  const T *from[K][Phases], *weight[K];
  for (int k = 0; k < K; k++) {
    weight[k] = Weighted ? t.weight + k * t.out + t.low : nullptr;
    for (int p = 0; p < Phases; p++) from[k][p] = x + t.at[k * t.out + t.low + p];
  }
  out += t.low;
#pragma GCC ivdep
  for (int64_t q = 0; q < n; q++)
    for (int p = 0; p < Phases; p++) {
      T sum = from[0][p][Step * q];
      if (Weighted) sum *= weight[0][Phases * q + p];
      for (int k = 1; k < K; k++) {
        const T v = from[k][p][Step * q];
        sum += Weighted ? weight[k][Phases * q + p] * v : v;
      }
      out[Phases * q + p] = sum;
    }
}

// Any number of taps.
template <class T, int Phases, int Step, bool Weighted>
void many_by_step(const T* x, const Taps<T>& t, T* __restrict out) {
  const int64_t n = (t.high - t.low) / Phases;
  out += t.low;
  for (int64_t k = 0; k < t.taps; k++)
    for (int p = 0; p < Phases; p++) {
      const T* from = x + t.at[k * t.out + t.low + p];
      const T* weight = Weighted ? t.weight + k * t.out + t.low : nullptr;
#pragma GCC ivdep
      for (int64_t q = 0; q < n; q++) {
        const T v = Weighted ? weight[Phases * q + p] * from[Step * q] : from[Step * q];
        out[Phases * q + p] = k ? out[Phases * q + p] + v : v;
      }
    }
}

template <class T, int K, bool Weighted>
void row_of(const T* x, const Taps<T>& t, T* out) {
  if (t.low < t.high) {
    if constexpr (K == 0) {
      auto* const run = t.phases == 2 ? many_by_step<T, 2, 1, Weighted>
                        : t.step == 2 ? many_by_step<T, 1, 2, Weighted>
                                      : many_by_step<T, 1, 1, Weighted>;
      run(x, t, out);
    } else {
      auto* const run = t.phases == 2 ? by_step<T, K, 2, 1, Weighted>
                        : t.step == 2 ? by_step<T, K, 1, 2, Weighted>
                                      : by_step<T, K, 1, 1, Weighted>;
      run(x, t, out);
    }
  }
  by_position<T, K, Weighted>(x, t, out, 0, t.low);
  by_position<T, K, Weighted>(x, t, out, t.high, t.out);
}

template <class T, bool Weighted>
void row_weighted(const T* x, const Taps<T>& t, T* out) {
  switch (t.taps) {
    case 1:
      return row_of<T, 1, Weighted>(x, t, out);
    case 2:
      return row_of<T, 2, Weighted>(x, t, out);
    case 3:
      return row_of<T, 3, Weighted>(x, t, out);
    case 4:
      return row_of<T, 4, Weighted>(x, t, out);
    default:
      return row_of<T, 0, Weighted>(x, t, out);
  }
}

template <class T>
void row(const T* x, const Taps<T>& t, T* out) {
  t.weight ? row_weighted<T, true>(x, t, out) : row_weighted<T, false>(x, t, out);
}

template <class T, int K>
void blend_of(const T* const* rows, const T* w, T* __restrict out, int64_t n) {
  const T* r[K];
  T weight[K];
  for (int k = 0; k < K; k++) {
    r[k] = rows[k];
    weight[k] = w[k];
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) {
    T sum = weight[0] * r[0][i];
    for (int k = 1; k < K; k++) sum += weight[k] * r[k][i];
    out[i] = sum;
  }
}

template <class T>
void blend(const T* const* rows, const T* w, int64_t count, T* __restrict out, int64_t n) {
  switch (count) {
    case 1:
      return blend_of<T, 1>(rows, w, out, n);
    case 2:
      return blend_of<T, 2>(rows, w, out, n);
    case 3:
      return blend_of<T, 3>(rows, w, out, n);
    case 4:
      return blend_of<T, 4>(rows, w, out, n);
  }
  constexpr int64_t block = 64;
  int64_t i = 0;
  for (; i + block <= n; i += block) {
    T sum[block] = {};
    for (int64_t k = 0; k < count; k++)
      for (int64_t j = 0; j < block; j++) sum[j] += w[k] * rows[k][i + j];
    for (int64_t j = 0; j < block; j++) out[i + j] = sum[j];
  }
  for (int64_t j = i; j < n; j++) out[j] = T(0);
  for (int64_t k = 0; k < count; k++)
    for (int64_t j = i; j < n; j++) out[j] += w[k] * rows[k][j];
}

template <class T>
void divide(T* out, const T* by, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) out[i] /= by[i];
}

template <class T>
void multiply_add(T* sum, const T* a, const T* b, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) sum[i] += a[i] * b[i];
}

template <class T, int N>
struct Lanes {
  typedef T type __attribute__((vector_size(N * sizeof(T))));
};
template <class T, int N>
FLAMBEAU_INLINE typename Lanes<T, N>::type load(const T* x) {
  typename Lanes<T, N>::type v;
  __builtin_memcpy(&v, x, sizeof(v));
  return v;
}
template <class T, int N>
FLAMBEAU_INLINE typename Lanes<T, N / 2>::type fold(typename Lanes<T, N>::type v) {
  typename Lanes<T, N / 2>::type low, high;
  __builtin_memcpy(&low, &v, sizeof(low));
  __builtin_memcpy(&high, reinterpret_cast<const char*>(&v) + sizeof(low), sizeof(high));
  return low + high;
}

template <class T>
void means(const T* x, int64_t n, int64_t count, T by, T* out) {
  constexpr int W = 32 / sizeof(T);
  for (int64_t c = 0; c < count; c++, x += n) {
    typename Lanes<T, W>::type one = {}, two = {};
    int64_t i = 0;
    for (; i + 2 * W <= n; i += 2 * W) {
      one += load<T, W>(x + i);
      two += load<T, W>(x + i + W);
    }
    if (n & W) one += load<T, W>(x + i), i += W;
    auto half = fold<T, W>(one + two);
    if (n & (W / 2)) half += load<T, W / 2>(x + i), i += W / 2;
    T sum = half[0] + half[1];
    if constexpr (W == 8) sum += half[2] + half[3];
    for (; i < n; i++) sum += x[i];
    out[c] = sum / by;
  }
}

template <class T>
void corners(const T* grid, int64_t count, int32_t width, int32_t height, bool align_corners,
             int32_t* at, T* weight) {
  int32_t base[2][kGridBlock];
  T part[2][kGridBlock];
  for (int d = 0; d < 2; d++) {
    const T size = T(d ? height : width), last = size - 1;
    for (int64_t i = 0; i < count; i++) {
      const T x = grid[2 * i + d];
      const T place = align_corners ? (x + 1) / 2 * last : ((x + 1) * size - 1) / 2;
      // Those outside go to -2 or size, where no corner is inside.
      const T low = place > T(-2) ? place : T(-2), near = low < size ? low : size;
      const int32_t toward_zero = int32_t(near), whole = toward_zero - (near < T(toward_zero));
      base[d][i] = whole;
      part[d][i] = near - T(whole);
    }
  }
  for (int32_t k = 0; k < 4; k++) {
    const int32_t right = k & 1, below = k >> 1;
    int32_t* places = at + k * count;
    T* w = weight + k * count;
#pragma GCC ivdep
    for (int64_t i = 0; i < count; i++) {
      const int32_t x = base[0][i] + right, y = base[1][i] + below;
      const bool inside = (x >= 0) & (x < width) & (y >= 0) & (y < height);
      places[i] = inside ? y * width + x : -1;
      w[i] = (below ? part[1][i] : 1 - part[1][i]) * (right ? part[0][i] : 1 - part[0][i]);
    }
  }
}

template <class T>
constexpr ResampleFns<T> functions{row<T>,          blend<T>, divide<T>,
                                   multiply_add<T>, means<T>, corners<T>};

}  // namespace

extern const ResampleFns<float> resample_float[1];
extern const ResampleFns<double> resample_double[1];
const ResampleFns<float> resample_float[1] = {functions<float>};
const ResampleFns<double> resample_double[1] = {functions<double>};

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
