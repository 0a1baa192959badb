// Products of small matrices by tiles that stay in registers, and the packing that brings operands
// into their order. Each element adds up in the order of the inner index: in float one fused step
// after another, in double multiplied and added (as everywhere, for processors without the
// instruction), so that neither tiles nor the width of vectors show in the results.
#pragma once
#include <utility>

#include "kernels/tile_matrix.h"
#include "simd/loops.h"
#include "simd/vector.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

using VF = VectorOf<float>::type;
using VD = VectorOf<double>::type;

template <class T>
constexpr int kWide = kBytes / int(sizeof(T));
// columns of a tile: two vectors
template <class T>
constexpr int kCols = 2 * kWide<T>;
constexpr int kRows = 6;  // of a tile

#if defined(__AVX512F__)
FLAMBEAU_INLINE VF mad_vector(VF a, VF b, VF c) { return (VF)_mm512_fmadd_ps(a, b, c); }
#elif defined(__AVX2__)
FLAMBEAU_INLINE VF mad_vector(VF a, VF b, VF c) { return (VF)_mm256_fmadd_ps(a, b, c); }
#else
FLAMBEAU_INLINE VF mad_vector(VF a, VF b, VF c) {
  VF r;
  for (int i = 0; i < kWide<float>; i++) r[i] = fma(a[i], b[i], c[i]);
  return r;
}
#endif
FLAMBEAU_INLINE VD mad_vector(VD a, VD b, VD c) { return a * b + c; }

// ---- products -----------------------------------------------------------------------------------

// The right operand: strip s of kCols columns begins `strip` elements after the one before, its
// rows are `row` apart.
template <class T>
struct Panels {
  const T* data;
  int64_t strip, row;
};

// c (+)= a · b for M rows and one strip of columns, or its first vector alone.
template <int M, class T, int Vectors = 2>
FLAMBEAU_INLINE void tile(int64_t k, const T* a, int64_t a_row, int64_t a_col, const T* b,
                          int64_t b_row, T* c, int64_t c_row, bool accumulate) {
  using V = typename VectorOf<T>::type;
  V acc[M][Vectors];
#pragma GCC unroll 8
  for (int r = 0; r < M; r++)
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; v++)
      acc[r][v] = accumulate ? load<V>(c + r * c_row + v * kWide<T>) : V{};
  for (int64_t i = 0; i < k; i++, a += a_col, b += b_row) {
    V x[Vectors];
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; v++) x[v] = load<V>(b + v * kWide<T>);
#pragma GCC unroll 8
    for (int r = 0; r < M; r++) {
      const V s = a[r * a_row] - V{};
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; v++) acc[r][v] = mad_vector(s, x[v], acc[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < M; r++)
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; v++) store(c + r * c_row + v * kWide<T>, acc[r][v]);
}

// At most kRows rows, n columns rounded up to whole strips.
template <class T>
void product(int m, int64_t n, int64_t k, const T* a, int64_t a_row, int64_t a_col, Panels<T> b,
             T* c, int64_t c_row, bool accumulate) {
  const T* p = b.data;
  for (int64_t j = 0; j < n; j += kCols<T>, p += b.strip) {
    T* to = c + j;
    switch (m) {
      case 1:
        tile<1>(k, a, a_row, a_col, p, b.row, to, c_row, accumulate);
        break;
      case 2:
        tile<2>(k, a, a_row, a_col, p, b.row, to, c_row, accumulate);
        break;
      case 3:
        tile<3>(k, a, a_row, a_col, p, b.row, to, c_row, accumulate);
        break;
      case 4:
        tile<4>(k, a, a_row, a_col, p, b.row, to, c_row, accumulate);
        break;
      case 5:
        tile<5>(k, a, a_row, a_col, p, b.row, to, c_row, accumulate);
        break;
      default:
        tile<6>(k, a, a_row, a_col, p, b.row, to, c_row, accumulate);
    }
  }
}

// ---- packing ------------------------------------------------------------------------------------

constexpr int64_t rounded(int64_t n, int64_t step) { return (n + step - 1) / step * step; }
template <class T>
constexpr int64_t padded(int64_t n) {
  return rounded(n, kCols<T>);
}
// to = from * scale
template <class T>
FLAMBEAU_INLINE void scaled(T* to, const T* from, int64_t n, T scale) {
  using V = typename VectorOf<T>::type;
  int64_t i = 0;
  for (; i + kWide<T> <= n; i += kWide<T>) store(to + i, load<V>(from + i) * scale);
  for (; i < n; i++) to[i] = from[i] * scale;
}
template <class T>
FLAMBEAU_INLINE const T* row_of(const TileMatrix& m, int64_t r) {
  return reinterpret_cast<const T*>(m.data) + r * m.row;
}

// Rows times scale, their ends filled with zeros up to `width`.
template <class T>
void pack_rows(T* to, int64_t width, const TileMatrix& from, int64_t begin, int64_t rows,
               int64_t cols, T scale) {
  for (int64_t r = 0; r < rows; r++, to += width) {
    const T* x = row_of<T>(from, begin + r);
    if (from.col == 1) {
      scaled(to, x, cols, scale);
    } else {
      for (int64_t i = 0; i < cols; i++) to[i] = x[i * from.col] * scale;
    }
    for (int64_t i = cols; i < width; i++) to[i] = T(0);
  }
}

template <int high, class V, int... k>
FLAMBEAU_INLINE V interleaved(V a, V b, std::integer_sequence<int, k...>) {
  constexpr int n = sizeof...(k);
  return __builtin_shufflevector(a, b, (high * n / 2 + k / 2 + (k & 1) * n)...);
}
// Transposes as many vectors as they have elements, by rounds of interleaving.
template <class V>
FLAMBEAU_INLINE void transpose_vectors(V* v) {
  constexpr int n = int(sizeof(V) / sizeof(v[0][0]));
  using Index = std::make_integer_sequence<int, n>;
#pragma GCC unroll 4
  for (int round = 1; round < n; round *= 2) {
    V t[n];
#pragma GCC unroll 16
    for (int i = 0; i < n / 2; i++) {
      t[2 * i] = interleaved<0>(v[i], v[i + n / 2], Index());
      t[2 * i + 1] = interleaved<1>(v[i], v[i + n / 2], Index());
    }
#pragma GCC unroll 16
    for (int i = 0; i < n; i++) v[i] = t[i];
  }
}

// The transpose in strips: panel s holds the rows [s · kCols, (s + 1) · kCols) as columns.
template <class T>
void pack_transposed(T* to, const TileMatrix& from, int64_t begin, int64_t rows, int64_t cols) {
  using V = typename VectorOf<T>::type;
  constexpr int W = kWide<T>;
  for (int64_t s = 0; s < rows; s += kCols<T>, to += cols * kCols<T>)
    for (int64_t half = 0; half < kCols<T>; half += W) {
      const int64_t first = s + half;
      int64_t c = 0;
      if (from.col == 1 && first + W <= rows)
        for (; c + W <= cols; c += W) {
          V v[W];
          for (int i = 0; i < W; i++) v[i] = load<V>(row_of<T>(from, begin + first + i) + c);
          transpose_vectors(v);
          for (int i = 0; i < W; i++) store(to + (c + i) * kCols<T> + half, v[i]);
        }
      for (int64_t i = 0; i < W; i++) {
        const bool inside = first + i < rows;
        const T* x = inside ? row_of<T>(from, begin + first + i) : nullptr;
        for (int64_t j = c; j < cols; j++)
          to[j * kCols<T> + half + i] = inside ? x[j * from.col] : T(0);
      }
    }
}

template <class T>
void unpack_rows(const TileMatrix& to, int64_t begin, const T* from, int64_t width, int64_t rows,
                 int64_t cols, T scale) {
  for (int64_t r = 0; r < rows; r++, from += width) {
    T* y = const_cast<T*>(row_of<T>(to, begin + r));
    if (to.col == 1) {
      scaled(y, from, cols, scale);
    } else {
      for (int64_t i = 0; i < cols; i++) y[i * to.col] = from[i] * scale;
    }
  }
}

}  // namespace
}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
