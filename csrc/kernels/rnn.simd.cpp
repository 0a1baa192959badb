// Loops of recurrent layers: products with packed weights, and the passes over the gates.
#include <utility>

#include "kernels/rnn_table.h"
#include "simd/loops.h"
#include "simd/vmath.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

#if defined(__AVX512F__)
constexpr int kBytes = 64, kTileRows = 12;
#elif defined(__AVX2__)
constexpr int kBytes = 32, kTileRows = 6;
#else
constexpr int kBytes = 16, kTileRows = 6;
#endif

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kBytes)));
};
template <class T>
using Vector = typename VectorOf<T>::type;
template <class T>
constexpr int kWidth = kBytes / int(sizeof(T));  // of a vector
template <class T>
constexpr int64_t kPanel = 2 * kWidth<T>;
// Rows of a panel that stay in the first-level cache beside those of the other operand.
template <class T>
constexpr int64_t kDepth = 1024 / int64_t(sizeof(T));

template <int N, class F>
FLAMBEAU_INLINE void each(F&& f) {
  [&]<int... k>(std::integer_sequence<int, k...>) __attribute__((always_inline)) {
    (f(std::integral_constant<int, k>()), ...);
  }(std::make_integer_sequence<int, N>());
}

template <class T>
FLAMBEAU_INLINE Vector<T> load_vector(const T* p) {
  Vector<T> v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
FLAMBEAU_INLINE void store_vector(T* p, Vector<T> v) {
  __builtin_memcpy(p, &v, sizeof v);
}

// x·b + c of every lane, x one number
#if defined(__AVX512F__)
FLAMBEAU_INLINE Vector<float> fused(float x, Vector<float> b, Vector<float> c) {
  return Vector<float>(_mm512_fmadd_ps(_mm512_set1_ps(x), __m512(b), __m512(c)));
}
FLAMBEAU_INLINE Vector<double> fused(double x, Vector<double> b, Vector<double> c) {
  return Vector<double>(_mm512_fmadd_pd(_mm512_set1_pd(x), __m512d(b), __m512d(c)));
}
#elif defined(__AVX2__)
FLAMBEAU_INLINE Vector<float> fused(float x, Vector<float> b, Vector<float> c) {
  return Vector<float>(_mm256_fmadd_ps(_mm256_set1_ps(x), __m256(b), __m256(c)));
}
FLAMBEAU_INLINE Vector<double> fused(double x, Vector<double> b, Vector<double> c) {
  return Vector<double>(_mm256_fmadd_pd(_mm256_set1_pd(x), __m256d(b), __m256d(c)));
}
#else
template <class T, class V>
FLAMBEAU_INLINE V fused(T x, V b, V c) {
  for (int i = 0; i < kWidth<T>; i++) c[i] = fma(x, T(b[i]), T(c[i]));
  return c;
}
#endif

// `R` rows of `P` neighbouring panels, which lie `step` apart, added to c. Each element is a chain
// of its own, so a tile's shape changes no bit.
template <class T, int R, int P>
FLAMBEAU_INLINE void tile(T* const* c, int64_t c_at, const T* const* a, int64_t a_at, int64_t depth,
                          const T* b, int64_t step) {
  constexpr int w = kWidth<T>;
  Vector<T> sum[R][2 * P];
  const T* rows[R];
  each<R>([&](auto r) __attribute__((always_inline)) {
    rows[r] = a[r] + a_at;
    each<2 * P>([&](auto v) __attribute__((always_inline)) {
      sum[r][v] = load_vector(c[r] + c_at + v * w);
    });
  });
  for (int64_t k = 0; k < depth; k++) {
    Vector<T> line[2 * P];
    each<2 * P>([&](auto v) __attribute__((always_inline)) {
      line[v] = load_vector(b + v / 2 * step + k * kPanel<T> + v % 2 * w);
    });
    each<R>([&](auto r) __attribute__((always_inline)) {
      const T x = rows[r][k];
      each<2 * P>([&](auto v)
                      __attribute__((always_inline)) { sum[r][v] = fused(x, line[v], sum[r][v]); });
    });
  }
  each<R>([&](auto r) __attribute__((always_inline)) {
    each<2 * P>([&](auto v) __attribute__((always_inline)) {
      store_vector(c[r] + c_at + v * w, sum[r][v]);
    });
  });
}

template <class T, int R>
void tile_of(int64_t rows, T* const* c, int64_t c_at, const T* const* a, int64_t a_at,
             int64_t depth, const T* b) {
  if (rows == R)
    tile<T, R, 1>(c, c_at, a, a_at, depth, b, 0);
  else if constexpr (R > 1)
    tile_of<T, R - 1>(rows, c, c_at, a, a_at, depth, b);
}

// A panel for any number of rows, in tiles of about equal height.
template <class T>
void panel_product(T* const* c, int64_t c_at, const T* const* a, int64_t a_at, int64_t rows,
                   int64_t depth, const T* b) {
  const int64_t tiles = (rows + kTileRows - 1) / kTileRows;
  for (int64_t i = 0; i < tiles; i++) {
    const int64_t begin = rows * i / tiles, end = rows * (i + 1) / tiles;
    tile_of<T, kTileRows>(end - begin, c + begin, c_at, a + begin, a_at, depth, b);
  }
}

template <class T>
struct Rnn {
  static void pack(T* to, const T* from, int64_t depth, int64_t cols, int64_t row_stride,
                   int64_t col_stride) {
    constexpr int64_t w = kPanel<T>;
    for (int64_t j = 0; j < cols; j += w, to += depth * w) {
      const int64_t n = cols - j < w ? cols - j : w;
      const T* p = from + j * col_stride;
      if (n < w)
        for (int64_t i = 0; i < depth * w; i++) to[i] = 0;
      if (col_stride == 1) {
        for (int64_t k = 0; k < depth; k++)
          for (int64_t i = 0; i < n; i++) to[k * w + i] = p[k * row_stride + i];
      } else {
        // parts of the panel that stay in the first-level cache while its columns are written
        for (int64_t begin = 0; begin < depth; begin += 64) {
          const int64_t end = depth - begin < 64 ? depth : begin + 64;
          for (int64_t i = 0; i < n; i++)
            for (int64_t k = begin; k < end; k++)
              to[k * w + i] = p[k * row_stride + i * col_stride];
        }
      }
    }
  }

  static void product(T* const* c, int64_t c_at, const T* const* a, int64_t a_at, int64_t rows,
                      int64_t depth, const T* packed, int64_t cols) {
    constexpr int64_t w = kPanel<T>;
    const int64_t step = depth * w;  // from panel to panel
    for (int64_t k = 0; k < depth; k += kDepth<T>) {
      const int64_t n = depth - k < kDepth<T> ? depth - k : kDepth<T>;
      const T* b = packed + k * w;
      int64_t j = 0;
      // few rows: several panels at once, that enough chains run side by side
      for (; rows == 1 && j + 4 * w <= cols; j += 4 * w, b += 4 * step)
        tile<T, 1, 4>(c, c_at + j, a, a_at + k, n, b, step);
      for (; rows == 2 && j + 2 * w <= cols; j += 2 * w, b += 2 * step)
        tile<T, 2, 2>(c, c_at + j, a, a_at + k, n, b, step);
      for (; rows == 3 && j + 2 * w <= cols; j += 2 * w, b += 2 * step)
        tile<T, 3, 2>(c, c_at + j, a, a_at + k, n, b, step);
      for (; j + w <= cols; j += w, b += step)
        panel_product<T>(c, c_at + j, a, a_at + k, rows, n, b);
      if (j < cols) narrow_product(c, c_at + j, a, a_at + k, rows, n, b, cols - j);
    }
  }

  // The last, partly filled panel goes through memory of whole ones.
  static void narrow_product(T* const* c, int64_t c_at, const T* const* a, int64_t a_at,
                             int64_t rows, int64_t depth, const T* b, int64_t cols) {
    T block[kTileRows][kPanel<T>];
    T* lines[kTileRows];
    for (int64_t i = 0; i < rows; i += kTileRows) {
      const int64_t n = rows - i < kTileRows ? rows - i : kTileRows;
      for (int64_t r = 0; r < n; r++) {
        lines[r] = block[r];
        for (int64_t j = 0; j < kPanel<T>; j++) block[r][j] = j < cols ? c[i + r][c_at + j] : T(0);
      }
      panel_product<T>(lines, 0, a + i, a_at, n, depth, b);
      for (int64_t r = 0; r < n; r++)
        for (int64_t j = 0; j < cols; j++) c[i + r][c_at + j] = block[r][j];
    }
  }

  // ---- gates ------------------------------------------------------------------------------------

  // 1/(1 + e^-x) within two roundings, and within the least normal number of it at the far left:
  // enough for a factor, in two thirds of the time of sigmoid().
  FLAMBEAU_INLINE T gate(T x) {
    constexpr T limit = sizeof(T) == 4 ? T(87) : T(708);
    const auto reduced = reduce_exp(clamp(-x, -limit, limit));
    return T(1) / (T(1) + exp_poly(reduced) * power_of_two(reduced.shifted));
  }
  FLAMBEAU_INLINE void gates(T* x, int64_t n) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) x[i] = gate(x[i]);
  }
  FLAMBEAU_INLINE void tanhs(T* to, const T* x, int64_t n) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) to[i] = tanh(x[i]);
  }
  FLAMBEAU_INLINE void copy(T* to, const T* x, int64_t n) {
    for (int64_t i = 0; i < n; i++) to[i] = x[i];
  }
  // Units are handled in blocks: what a pass leaves for the next stays close.
  static constexpr int64_t kBlock = 256;

  // gates: input, forget, cell, output; kept: tanh of the new cell state, then both old states
  static void lstm(T* sums, const T* h, T* next, T* c, T* out, T* kept, int64_t n, int64_t step) {
    T *i = sums, *f = i + step, *g = f + step, *o = g + step;
    gates(i, n);
    gates(f, n);
    tanhs(g, g, n);
    gates(o, n);
    if (kept) {
      copy(kept + step, c, n);
      copy(kept + 2 * step, h, n);
    }
    T squashed[kBlock];
    for (int64_t at = 0; at < n; at += kBlock) {
      const int64_t m = n - at < kBlock ? n - at : kBlock;
      T* t = kept ? kept + at : squashed;
#pragma GCC ivdep
      for (int64_t j = 0; j < m; j++) c[at + j] = f[at + j] * c[at + j] + i[at + j] * g[at + j];
#pragma GCC ivdep
      for (int64_t j = 0; j < m; j++) t[j] = tanh(c[at + j]);
#pragma GCC ivdep
      for (int64_t j = 0; j < m; j++) next[at + j] = out[at + j] = o[at + j] * t[j];
    }
  }
  static void lstm_back(T* sums, T* dh, T* dc, const T* grad, const T* saved, int64_t n,
                        int64_t step) {
    const T *i = saved, *f = i + step, *g = f + step, *o = g + step, *t = o + step, *c = t + step;
    T *di = sums, *df = di + step, *dg = df + step, *d_o = dg + step;
    add(dh, grad, n);
#pragma GCC ivdep
    for (int64_t j = 0; j < n; j++) {
      const T d = dh[j], e = dc[j] + d * o[j] * (T(1) - t[j] * t[j]);
      di[j] = e * g[j] * i[j] * (T(1) - i[j]);
      df[j] = e * c[j] * f[j] * (T(1) - f[j]);
      dg[j] = e * i[j] * (T(1) - g[j] * g[j]);
      d_o[j] = d * t[j] * o[j] * (T(1) - o[j]);
      dc[j] = e * f[j];
      dh[j] = 0;
    }
  }

  // gates: reset, update, new, and the recurrent part of new; kept: the old state
  static void gru(T* sums, const T* h, T* next, T* out, T* kept, int64_t n, int64_t step) {
    T *r = sums, *z = r + step, *fresh = z + step, *part = fresh + step;
    gates(r, n);
    gates(z, n);
    if (kept) copy(kept, h, n);
#pragma GCC ivdep
    for (int64_t j = 0; j < n; j++) fresh[j] = fresh[j] + r[j] * part[j];
    tanhs(fresh, fresh, n);
#pragma GCC ivdep
    for (int64_t j = 0; j < n; j++) next[j] = out[j] = fresh[j] + z[j] * (h[j] - fresh[j]);
  }
  static void gru_back(T* sums, T* dh, const T* grad, const T* saved, int64_t n, int64_t step) {
    const T *r = saved, *z = r + step, *fresh = z + step, *part = fresh + step, *h = part + step;
    T *dr = sums, *dz = dr + step, *dn = dz + step, *dp = dn + step;
    add(dh, grad, n);
#pragma GCC ivdep
    for (int64_t j = 0; j < n; j++) {
      const T d = dh[j], e = d * (T(1) - z[j]) * (T(1) - fresh[j] * fresh[j]);
      dn[j] = e;
      dp[j] = e * r[j];
      dr[j] = e * part[j] * r[j] * (T(1) - r[j]);
      dz[j] = d * (h[j] - fresh[j]) * z[j] * (T(1) - z[j]);
      dh[j] = d * z[j];
    }
  }

  // kept: the old state
  static void plain(T* sums, const T* h, T* next, T* out, T* kept, int64_t n, bool relu) {
    if (kept) copy(kept, h, n);
    if (relu) {
#pragma GCC ivdep
      for (int64_t j = 0; j < n; j++) sums[j] = maximum(sums[j], T(0));
    } else {
      tanhs(sums, sums, n);
    }
#pragma GCC ivdep
    for (int64_t j = 0; j < n; j++) next[j] = out[j] = sums[j];
  }
  static void plain_back(T* sums, T* dh, const T* grad, const T* saved, int64_t n, bool relu) {
    add(dh, grad, n);
    if (relu) {
#pragma GCC ivdep
      for (int64_t j = 0; j < n; j++) sums[j] = saved[j] <= 0 ? T(0) : dh[j];
    } else {
#pragma GCC ivdep
      for (int64_t j = 0; j < n; j++) sums[j] = dh[j] * (T(1) - saved[j] * saved[j]);
    }
    for (int64_t j = 0; j < n; j++) dh[j] = 0;
  }
  FLAMBEAU_INLINE void add(T* to, const T* x, int64_t n) {
    if (!x) return;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; i++) to[i] += x[i];
  }

#if defined(__FP_FAST_FMAF)
  static constexpr bool kFused = true;
#else
  static constexpr bool kFused = false;
#endif
  static constexpr RnnFns<T> fns{kPanel<T>, kFused, pack,      product,  lstm,
                                 gru,       plain,  lstm_back, gru_back, plain_back};
};

}  // namespace

extern const RnnFns<float> rnn_float[1];
extern const RnnFns<double> rnn_double[1];
const RnnFns<float> rnn_float[1] = {Rnn<float>::fns};
const RnnFns<double> rnn_double[1] = {Rnn<double>::fns};

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
