// Weighted sums of elements of rows, and of rows.
#include "kernels/resample_table.h"
#include "simd/target.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

template <class T, int K, bool Weighted>
void by_position(const T* x, const Taps<T>& t, T* __restrict out, int64_t begin, int64_t end) {
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

template <class T>
T total(const T* x, int64_t n) {
  constexpr int64_t lanes = 16;
  T sum[lanes] = {};
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (int64_t j = 0; j < lanes; j++) sum[j] += x[i + j];
  for (int64_t j = 0; i + j < n; j++) sum[j] += x[i + j];
  for (int64_t half = lanes / 2; half; half /= 2)
    for (int64_t j = 0; j < half; j++) sum[j] += sum[j + half];
  return sum[0];
}

template <class T>
constexpr ResampleFns<T> functions{row<T>, blend<T>, divide<T>, multiply_add<T>, total<T>};

}  // namespace

extern const ResampleFns<float> resample_float[1];
extern const ResampleFns<double> resample_double[1];
const ResampleFns<float> resample_float[1] = {functions<float>};
const ResampleFns<double> resample_double[1] = {functions<double>};

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
