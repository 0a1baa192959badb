// Attention over blocks of keys with a running maximum and sum of each query, so that the matrix of
// scores never exists: Milakov & Gimelshein 2018 (online softmax), Dao et al. 2022
// (FlashAttention), whose backward pass recomputes the weights from the saved log-sum-exp.
//
// Every product adds up in the order of its inner index, one fused step after another, so that
// neither tiles nor the width of vectors show in the results.
#include <utility>

#include "kernels/attention_table.h"
#include "kernels/reduce_lanes.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

#if defined(__AVX512F__)
constexpr int kBytes = 64;
#elif defined(__AVX2__)
constexpr int kBytes = 32;
#else
constexpr int kBytes = 16;
#endif

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kBytes)));
};
using VF = VectorOf<float>::type;
using VD = VectorOf<double>::type;

template <class T>
constexpr int kWide = kBytes / int(sizeof(T));
// columns of a tile: two vectors
template <class T>
constexpr int kCols = 2 * kWide<T>;
constexpr int kRows = 6;           // of a tile
constexpr int kGroup = 4 * kRows;  // queries of one step of the backward pass
constexpr int64_t kKeys = 128;     // of a block

template <class V, class T>
FLAMBEAU_INLINE V load(const T* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class V, class T>
FLAMBEAU_INLINE void store(T* p, V v) {
  __builtin_memcpy(p, &v, sizeof v);
}

#if defined(__AVX512F__)
FLAMBEAU_INLINE VF fma_vector(VF a, VF b, VF c) { return (VF)_mm512_fmadd_ps(a, b, c); }
FLAMBEAU_INLINE VD fma_vector(VD a, VD b, VD c) { return (VD)_mm512_fmadd_pd(a, b, c); }
#elif defined(__AVX2__)
FLAMBEAU_INLINE VF fma_vector(VF a, VF b, VF c) { return (VF)_mm256_fmadd_ps(a, b, c); }
FLAMBEAU_INLINE VD fma_vector(VD a, VD b, VD c) { return (VD)_mm256_fmadd_pd(a, b, c); }
#else
template <class V>
FLAMBEAU_INLINE V fma_vector(V a, V b, V c) {
  V r;
  for (int i = 0; i < int(sizeof(V) / sizeof(a[0])); i++) r[i] = fma(a[i], b[i], c[i]);
  return r;
}
#endif

// ---- products -----------------------------------------------------------------------------------

// The right operand: strip s of kCols columns begins `strip` elements after the one before, its
// rows are `row` apart.
template <class T>
struct Panels {
  const T* data;
  int64_t strip, row;
};

// c (+)= a · b for M rows and one strip of columns.
template <int M, class T>
FLAMBEAU_INLINE void tile(int64_t k, const T* a, int64_t a_row, int64_t a_col, const T* b,
                          int64_t b_row, T* c, int64_t c_row, bool accumulate) {
  using V = typename VectorOf<T>::type;
  V acc[M][2];
#pragma GCC unroll 8
  for (int r = 0; r < M; r++) {
    acc[r][0] = accumulate ? load<V>(c + r * c_row) : V{};
    acc[r][1] = accumulate ? load<V>(c + r * c_row + kWide<T>) : V{};
  }
  for (int64_t i = 0; i < k; i++, a += a_col, b += b_row) {
    const V x = load<V>(b), y = load<V>(b + kWide<T>);
#pragma GCC unroll 8
    for (int r = 0; r < M; r++) {
      const V s = a[r * a_row] - V{};
      acc[r][0] = fma_vector(s, x, acc[r][0]);
      acc[r][1] = fma_vector(s, y, acc[r][1]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < M; r++) {
    store(c + r * c_row, acc[r][0]);
    store(c + r * c_row + kWide<T>, acc[r][1]);
  }
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
FLAMBEAU_INLINE const T* row_of(const AttentionMatrix& m, int64_t r) {
  return reinterpret_cast<const T*>(m.data) + r * m.row;
}

// Rows times scale, their ends filled with zeros up to `width`.
template <class T>
void pack_rows(T* to, int64_t width, const AttentionMatrix& from, int64_t begin, int64_t rows,
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
void pack_transposed(T* to, const AttentionMatrix& from, int64_t begin, int64_t rows,
                     int64_t cols) {
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
void unpack_rows(const AttentionMatrix& to, int64_t begin, const T* from, int64_t width,
                 int64_t rows, int64_t cols, T scale) {
  for (int64_t r = 0; r < rows; r++, from += width) {
    T* y = const_cast<T*>(row_of<T>(to, begin + r));
    if (to.col == 1) {
      scaled(y, from, cols, scale);
    } else {
      for (int64_t i = 0; i < cols; i++) y[i * to.col] = from[i] * scale;
    }
  }
}

// ---- weights ------------------------------------------------------------------------------------

// e^x for x <= 0: what lies below the normal numbers is zero. NaN stays.
FLAMBEAU_INLINE float exp_falling(float x) {
  const auto reduced = reduce_exp(x < -87.0f ? -87.0f : x);
  const float p = (1.0f + (reduced.high + exp_tail(reduced))) * power_of_two(reduced.shifted);
  return choose(x < -87.0f, 0.0f, p);
}
FLAMBEAU_INLINE double exp_falling(double x) { return exp(x); }

// Rows of weights are handled in steps of kStep, for which they are filled up.
constexpr int kStep = 16;

template <class T>
FLAMBEAU_INLINE void fill(T* p, int64_t begin, int64_t end, T value) {
  for (int64_t i = begin; i < end; i++) p[i] = value;
}
template <class T>
FLAMBEAU_INLINE void clear(T* p, int64_t n) {
  for (int64_t i = 0; i < n; i++) p[i] = T(0);
}

template <class T>
FLAMBEAU_INLINE void weights(T* p, int64_t n, T shift) {
  for (int64_t i = 0; i < n; i += kStep) {
    T* x = p + i;
#pragma GCC ivdep
    for (int l = 0; l < kStep; l++) x[l] = exp_falling(x[l] - shift);
  }
}

// Merges the vectors of n elements into kStep lanes, and these pairwise.
template <class T, class Merge>
FLAMBEAU_INLINE T merged(const T* x, int64_t n, T identity, Merge merge) {
  using V = typename VectorOf<T>::type;
  constexpr int count = kStep / kWide<T>;
  V lane[count];
#pragma GCC unroll 8
  for (int l = 0; l < count; l++) lane[l] = V{} + identity;
  for (int64_t i = 0; i < n; i += kStep)
#pragma GCC unroll 8
    for (int l = 0; l < count; l++) lane[l] = merge(lane[l], load<V>(x + i + l * kWide<T>));
  T each[kStep];
#pragma GCC unroll 8
  for (int l = 0; l < count; l++) store(each + l * kWide<T>, lane[l]);
#pragma GCC unroll 4
  for (int w = kStep / 2; w; w /= 2)
#pragma GCC unroll 8
    for (int l = 0; l < w; l++) each[l] = merge(each[l], each[l + w]);
  return each[0];
}
// The largest number; NaN is left to the sum of the exponentials.
template <class T>
FLAMBEAU_INLINE T largest(const T* x, int64_t n) {
  return merged(x, n, -kInf<T>,
                [](auto a, auto b) __attribute__((always_inline)) { return b > a ? b : a; });
}
template <class T>
FLAMBEAU_INLINE T summed(const T* x, int64_t n) {
  return merged(x, n, T(0), [](auto a, auto b) __attribute__((always_inline)) { return a + b; });
}

template <class T>
FLAMBEAU_INLINE void apply_mask(const AttentionShape& shape, const AttentionMatrix& mask,
                                int64_t query, int64_t key, T* s, int64_t n) {
  if (shape.mask_is_bool) {
    const auto* m = reinterpret_cast<const uint8_t*>(mask.data) + query * mask.row + key * mask.col;
    if (mask.col == 1) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++) s[i] = m[i] ? s[i] : -kInf<T>;
    } else {
      for (int64_t i = 0; i < n; i++) s[i] = m[i * mask.col] ? s[i] : -kInf<T>;
    }
  } else {
    const T* m = row_of<T>(mask, query) + key * mask.col;
    if (mask.col == 1) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; i++) s[i] = s[i] + m[i];
    } else {
      for (int64_t i = 0; i < n; i++) s[i] = s[i] + m[i * mask.col];
    }
  }
}

// How many of the keys from `key` on a query sees.
FLAMBEAU_INLINE int64_t seen(const AttentionShape& shape, int64_t query, int64_t key,
                             int64_t keys) {
  if (!shape.causal) return keys;
  const int64_t n = query + 1 - key;
  return n < 0 ? 0 : n < keys ? n : keys;
}

template <class T>
struct Carver {
  uintptr_t at;
  T* take(int64_t n) {
    T* p = reinterpret_cast<T*>(at);
    at += uintptr_t((n * int64_t(sizeof(T)) + 63) / 64 * 64);
    return p;
  }
};

// ---- both passes --------------------------------------------------------------------------------

template <class T>
struct Attention {
  struct ForwardScratch {
    T *q, *k, *v, *p, *sum, *top;
    double* total;
    int64_t bytes;
    ForwardScratch(const AttentionForward& t, void* memory) {
      Carver<T> c{reinterpret_cast<uintptr_t>(memory)};
      const int64_t n = t.q_end - t.q_begin, keys = block(t.shape.keys);
      q = c.take(n * t.shape.width);
      k = c.take(keys * t.shape.width);
      v = c.take(keys * padded<T>(t.shape.value_width));
      p = c.take(kRows * keys);
      sum = c.take(n * padded<T>(t.shape.value_width));
      top = c.take(n);
      Carver<double> d{c.at};
      total = d.take(n);
      bytes = int64_t(d.at - reinterpret_cast<uintptr_t>(memory));
    }
  };
  static int64_t block(int64_t keys) { return rounded(keys < kKeys ? keys : kKeys, 32); }

  static int64_t forward_scratch(const AttentionForward& t) {
    return ForwardScratch(t, nullptr).bytes;
  }

  // Scores of one row to weights; sums of them and of the values so far are brought to the new
  // maximum.
  static void soften(const AttentionForward& t, const ForwardScratch& w, T* p, int64_t row,
                     int64_t key, int64_t n) {
    if (t.shape.masked) apply_mask(t.shape, t.head.mask, t.q_begin + row, key, p, n);
    const int64_t whole = rounded(n, kStep);
    fill(p, n, whole, -kInf<T>);
    const T old = w.top[row], high = largest(p, whole), top = high > old ? high : old;
    const T shift = top == -kInf<T> ? T(0) : top;
    weights(p, whole, shift);
    double total = double(summed(p, whole));
    if (top != old) {
      const T factor = exp_falling(old - shift);
      const int64_t width = padded<T>(t.shape.value_width);
      T* sum = w.sum + row * width;
      for (int64_t i = 0; i < width; i++) sum[i] = sum[i] * factor;
      total += w.total[row] * double(factor);
    } else {
      total += w.total[row];
    }
    w.total[row] = total;
    w.top[row] = top;
  }

  static void forward(const AttentionForward& t, void* memory) {
    const AttentionShape& s = t.shape;
    const ForwardScratch w(t, memory);
    const int64_t n = t.q_end - t.q_begin, wide = padded<T>(s.value_width), p_row = block(s.keys);
    pack_rows<T>(w.q, s.width, t.head.q, t.q_begin, n, s.width, T(s.scale));
    clear(w.sum, n * wide);
    for (int64_t i = 0; i < n; i++) {
      w.top[i] = -kInf<T>;
      w.total[i] = 0;
    }
    const int64_t end = seen(s, t.q_end - 1, 0, s.keys);
    for (int64_t key = 0; key < end; key += kKeys) {
      const int64_t keys = end - key < kKeys ? end - key : kKeys;
      pack_transposed<T>(w.k, t.k, key, keys, s.width);
      pack_rows<T>(w.v, wide, t.v, key, keys, s.value_width, T(1));
      for (int64_t i = 0; i < n; i += kRows) {
        const int rows = int(n - i < kRows ? n - i : kRows);
        const int64_t most = seen(s, t.q_begin + i + rows - 1, key, keys);
        if (most == 0) continue;
        product<T>(rows, most, s.width, w.q + i * s.width, s.width, 1,
                   {w.k, s.width * kCols<T>, kCols<T>}, w.p, p_row, false);
        for (int r = 0; r < rows; r++) {
          const int64_t visible = seen(s, t.q_begin + i + r, key, keys);
          T* p = w.p + r * p_row;
          if (visible) soften(t, w, p, i + r, key, visible);
          fill(p, rounded(visible, kStep), most, T(0));
        }
        product<T>(rows, s.value_width, most, w.p, p_row, 1, {w.v, kCols<T>, wide},
                   w.sum + i * wide, wide, true);
      }
    }
    T* lse = reinterpret_cast<T*>(t.head.lse) + t.q_begin;
    for (int64_t i = 0; i < n; i++) {
      const bool blind = w.total[i] == 0;
      lse[i] = blind ? kInf<T> : T(double(w.top[i]) + log(w.total[i]));
      if (blind) clear(w.sum + i * wide, wide);
      unpack_rows<T>(t.head.out, t.q_begin + i, w.sum + i * wide, wide, 1, s.value_width,
                     blind ? T(0) : T(1 / w.total[i]));
    }
  }

  struct BackwardScratch {
    T *kt, *vt, *k, *dk, *dv, *q, *g, *p, *ds, *lse, *dot, *dq;
    int64_t bytes;
    BackwardScratch(const AttentionBackward& t, void* memory) {
      Carver<T> c{reinterpret_cast<uintptr_t>(memory)};
      const int64_t keys = block(t.shape.keys), e = padded<T>(t.shape.width),
                    v = padded<T>(t.shape.value_width);
      kt = c.take(keys * t.shape.width);
      vt = c.take(keys * t.shape.value_width);
      k = c.take(keys * e);
      dk = c.take(keys * e);
      dv = c.take(keys * v);
      q = c.take(kGroup * e);
      g = c.take(kGroup * v);
      p = c.take(kGroup * keys);
      ds = c.take(kGroup * keys);
      lse = c.take(kGroup);
      dot = c.take(kGroup);
      dq = c.take(t.wants_q ? t.count * (t.q_end - t.q_begin) * e : 0);
      bytes = int64_t(c.at - reinterpret_cast<uintptr_t>(memory));
    }
  };
  static int64_t backward_scratch(const AttentionBackward& t) {
    return BackwardScratch(t, nullptr).bytes;
  }

  // Weights and the gradient of the scores of the queries [first, first + n), for the keys of the
  // block that the last of them sees.
  static void score_grads(const AttentionBackward& t, const AttentionHead& head,
                          const BackwardScratch& w, int64_t first, int64_t n, int64_t key,
                          int64_t keys, int64_t most) {
    const AttentionShape& s = t.shape;
    const int64_t e = padded<T>(s.width), v = padded<T>(s.value_width), p_row = block(s.keys);
    for (int64_t i = 0; i < n; i += kRows) {
      const int rows = int(n - i < kRows ? n - i : kRows);
      const int64_t strip = seen(s, first + i + rows - 1, key, keys);
      product<T>(rows, strip, s.width, w.q + i * e, e, 1, {w.kt, s.width * kCols<T>, kCols<T>},
                 w.p + i * p_row, p_row, false);
      product<T>(rows, strip, s.value_width, w.g + i * v, v, 1,
                 {w.vt, s.value_width * kCols<T>, kCols<T>}, w.ds + i * p_row, p_row, false);
      for (int r = 0; r < rows; r++) {
        const int64_t visible = seen(s, first + i + r, key, keys);
        T *p = w.p + (i + r) * p_row, *ds = w.ds + (i + r) * p_row;
        if (s.masked) apply_mask(s, head.mask, first + i + r, key, p, visible);
        const int64_t whole = rounded(visible, kStep);
        fill(p, visible, whole, -kInf<T>);
        weights(p, whole, w.lse[i + r]);
        const T dot = w.dot[i + r];
        for (int64_t j = 0; j < whole; j += kStep) {
          T *x = p + j, *y = ds + j;
#pragma GCC ivdep
          for (int l = 0; l < kStep; l++) y[l] = x[l] * (y[l] - dot);
        }
        fill(p, whole, most, T(0));
        fill(ds, visible, most, T(0));
      }
    }
  }

  static void group(const AttentionBackward& t, const AttentionHead& head, const BackwardScratch& w,
                    T* dq, int64_t first, int64_t n, int64_t key, int64_t keys) {
    const AttentionShape& s = t.shape;
    const int64_t e = padded<T>(s.width), v = padded<T>(s.value_width), p_row = block(s.keys);
    const int64_t most = seen(s, first + n - 1, key, keys);
    if (most == 0) return;
    pack_rows<T>(w.q, e, head.q, first, n, s.width, T(s.scale));
    pack_rows<T>(w.g, v, head.grad, first, n, s.value_width, T(1));
    for (int64_t i = 0; i < n; i++) {
      w.lse[i] = reinterpret_cast<const T*>(head.lse)[first + i];
      const T *g = w.g + i * v, *o = row_of<T>(head.out, first + i);
      const int64_t step = head.out.col;
      auto add = [](double a, double b) { return a + b; };
      w.dot[i] =
          T(step == 1 ? reduce_lanes(
                            s.value_width, 0.0,
                            [=](int64_t j) { return double(g[j]) * double(o[j]); }, add)
                      : reduce_lanes(
                            s.value_width, 0.0,
                            [=](int64_t j) { return double(g[j]) * double(o[j * step]); }, add));
    }
    score_grads(t, head, w, first, n, key, keys, most);
    if (t.wants_q)
      for (int64_t i = 0; i < n; i += kRows) {
        const int rows = int(n - i < kRows ? n - i : kRows);
        product<T>(rows, s.width, seen(s, first + i + rows - 1, key, keys), w.ds + i * p_row, p_row,
                   1, {w.k, kCols<T>, e}, dq + i * e, e, true);
      }
    if (!t.wants_kv) return;
    for (int64_t j = 0; j < most; j += kRows) {
      const int rows = int(most - j < kRows ? most - j : kRows);
      // queries before the first of these keys do not see them
      const int64_t skip = s.causal && key + j > first ? key + j - first : 0;
      product<T>(rows, s.value_width, n - skip, w.p + skip * p_row + j, 1, p_row,
                 {w.g + skip * v, kCols<T>, v}, w.dv + j * v, v, true);
      product<T>(rows, s.width, n - skip, w.ds + skip * p_row + j, 1, p_row,
                 {w.q + skip * e, kCols<T>, e}, w.dk + j * e, e, true);
    }
  }

  static void backward(const AttentionBackward& t, void* memory) {
    const AttentionShape& s = t.shape;
    const BackwardScratch w(t, memory);
    const int64_t e = padded<T>(s.width), v = padded<T>(s.value_width), n = t.q_end - t.q_begin;
    if (t.wants_q) clear(w.dq, t.count * n * e);
    for (int64_t key = t.k_begin; key < t.k_end; key += kKeys) {
      const int64_t keys = t.k_end - key < kKeys ? t.k_end - key : kKeys;
      const bool any = n > 0 && seen(s, t.q_end - 1, key, keys) > 0;
      if (any) {
        pack_transposed<T>(w.kt, t.k, key, keys, s.width);
        pack_transposed<T>(w.vt, t.v, key, keys, s.value_width);
        if (t.wants_q) pack_rows<T>(w.k, e, t.k, key, keys, s.width, T(1));
      }
      if (t.wants_kv) {
        clear(w.dk, keys * e);
        clear(w.dv, keys * v);
      }
      if (any)
        for (int64_t h = 0; h < t.count; h++)
          for (int64_t i = 0; i < n; i += kGroup)
            group(t, t.heads[h], w, t.wants_q ? w.dq + (h * n + i) * e : nullptr, t.q_begin + i,
                  n - i < kGroup ? n - i : kGroup, key, keys);
      if (t.wants_kv) {
        unpack_rows<T>(t.dk, key, w.dk, e, keys, s.width, T(1));
        unpack_rows<T>(t.dv, key, w.dv, v, keys, s.value_width, T(1));
      }
    }
    if (t.wants_q)
      for (int64_t h = 0; h < t.count; h++)
        unpack_rows<T>(t.heads[h].dq, t.q_begin, w.dq + h * n * e, e, n, s.width, T(s.scale));
  }

  static constexpr AttentionFns fns{forward_scratch, forward, backward_scratch, backward};
};

}  // namespace

// [0] float, [1] double
extern const AttentionFns attention_table[2];
const AttentionFns attention_table[2] = {Attention<float>::fns, Attention<double>::fns};

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
