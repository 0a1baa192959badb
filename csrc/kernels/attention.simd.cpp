// Attention over blocks of keys with a running maximum and sum of each query, so that the matrix of
// scores never exists: Milakov & Gimelshein 2018 (online softmax), Dao et al. 2022
// (FlashAttention), whose backward pass recomputes the weights from the saved log-sum-exp.
#include "kernels/attention_table.h"
#include "kernels/reduce_lanes.h"
#include "kernels/tile.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

constexpr int kGroup = 4 * kRows;  // queries of one step of the backward pass
constexpr int64_t kKeys = 128;     // of a block

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
FLAMBEAU_INLINE void apply_mask(const AttentionShape& shape, const TileMatrix& mask, int64_t query,
                                int64_t key, T* s, int64_t n) {
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
