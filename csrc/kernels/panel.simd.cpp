// Products of matrices from registers: six rows of two vectors.
#include "kernels/panel_table.h"
#include "simd/target.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

#if defined(__AVX512F__)
constexpr int64_t kWidth = 16;
#else
constexpr int64_t kWidth = 8;
#endif
constexpr int64_t kColumns = 2 * kWidth;
typedef float Vector __attribute__((vector_size(kWidth * 4)));
typedef float Unaligned __attribute__((vector_size(kWidth * 4), aligned(4), may_alias));

FLAMBEAU_INLINE Vector get(const float* p) { return *reinterpret_cast<const Unaligned*>(p); }
FLAMBEAU_INLINE void put(float* p, Vector v) { *reinterpret_cast<Unaligned*>(p) = v; }
FLAMBEAU_INLINE Vector multiply_add(float a, Vector b, Vector c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(_mm512_set1_ps(a), b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_ps(_mm256_set1_ps(a), b, c);
#else
  for (int64_t i = 0; i < kWidth; i++) c[i] = fma(a, b[i], c[i]);
  return c;
#endif
}

// Rows of c, two vectors wide, in registers; on top of what c holds, or not.
template <int Rows>
void product_block(bool more, int64_t k, const float* a, int64_t a_row, int64_t a_col,
                   const float* b, int64_t b_row, float* c, int64_t c_row) {
  Vector sum[Rows][2] = {};
  if (more) {
#pragma GCC unroll 6
    for (int r = 0; r < Rows; r++) {
      sum[r][0] = get(c + r * c_row);
      sum[r][1] = get(c + r * c_row + kWidth);
    }
  }
  for (int64_t p = 0; p < k; p++, a += a_col, b += b_row) {
    const Vector b0 = get(b), b1 = get(b + kWidth);
#pragma GCC unroll 6
    for (int r = 0; r < Rows; r++) {
      sum[r][0] = multiply_add(a[r * a_row], b0, sum[r][0]);
      sum[r][1] = multiply_add(a[r * a_row], b1, sum[r][1]);
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < Rows; r++) {
    put(c + r * c_row, sum[r][0]);
    put(c + r * c_row + kWidth, sum[r][1]);
  }
}

void product(int64_t m, int64_t n, int64_t k, const float* a, int64_t a_panel, int64_t a_row,
             int64_t a_col, const float* b, int64_t b_row, float* c, int64_t c_row) {
  static_assert(kPanelRows % 6 == 0);
  constexpr int64_t kDepth =
      256;  // that many rows of two vectors of b are half of a first-level cache
  for (int64_t p = 0; p < k; p += kDepth)
    for (int64_t j = 0; j < n; j += 2 * kWidth) {
      auto rows = [&](auto count, int64_t i) {
        product_block<decltype(count)::value>(
            p > 0, p + kDepth < k ? kDepth : k - p,
            a + i / kPanelRows * a_panel + i % kPanelRows * a_row + p * a_col, a_row, a_col,
            b + p * b_row + j, b_row, c + i * c_row + j, c_row);
      };
      int64_t i = 0;
      for (; i + 6 <= m; i += 6) rows(std::integral_constant<int, 6>(), i);
      for (; i + 2 <= m; i += 2) rows(std::integral_constant<int, 2>(), i);
      if (i < m) rows(std::integral_constant<int, 1>(), i);
    }
}

// Lanes [0, split) lie `Stride` apart from first on, the others from second on.
template <int64_t Stride>
void gather_runs(const float* x, int64_t channels, int64_t plane, const int64_t* tap, int64_t taps,
                 int64_t first, int64_t second, int64_t split, float* out) {
  for (int64_t c = 0; c < channels; c++, x += plane)
    for (int64_t t = 0; t < taps; t++, out += kColumns) {
      const float *a = x + tap[t] + first, *b = x + tap[t] + second - split * Stride;
      if (split == kColumns) {
        for (int64_t l = 0; l < kColumns; l++) out[l] = a[l * Stride];
      } else {
        for (int64_t l = 0; l < kColumns; l++) out[l] = l < split ? a[l * Stride] : b[l * Stride];
      }
    }
}

void gather(const float* x, int64_t channels, int64_t plane, const int64_t* tap, int64_t taps,
            const int64_t* at, float* out) {
  static_assert(kColumns <= kMaxPanelColumns);
  const int64_t stride = at[1] - at[0];
  int64_t split = 1, end;
  while (split < kColumns && at[split] - at[split - 1] == stride) split++;
  end = split + 1;
  while (end < kColumns && at[end] - at[end - 1] == stride) end++;
  if (end >= kColumns && (stride == 1 || stride == 2)) {
    auto* const runs = stride == 1 ? gather_runs<1> : gather_runs<2>;
    return runs(x, channels, plane, tap, taps, at[0], split < kColumns ? at[split] : 0, split, out);
  }
  for (int64_t c = 0; c < channels; c++, x += plane)
    for (int64_t t = 0; t < taps; t++, out += kColumns) {
      const float* from = x + tap[t];
      for (int64_t l = 0; l < kColumns; l++) out[l] = from[at[l]];
    }
}

}  // namespace

extern const PanelFns panel_table[1];
const PanelFns panel_table[1] = {{2 * kWidth, product, gather}};

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
