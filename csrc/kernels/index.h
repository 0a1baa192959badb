// Shared by the operators that read or write at positions given by an index tensor.
#pragma once
#include <atomic>

#include "core/tensor.h"
#include "runtime/parallel.h"

namespace flambeau::kernels {

// An index tensor as contiguous int64.
Tensor as_positions(const Tensor& index, const char* op);
// Whether all of p[0, count) lie in [low, n): the sign of p - low or of n - 1 - p tells, in whole
// vectors for blocks of a constant size.
inline bool all_between(const int64_t* p, int64_t count, int64_t low, int64_t n) {
  constexpr int64_t block = 1024;
  const uint64_t first = uint64_t(low), last = uint64_t(n - 1);
  uint64_t out = 0;
  int64_t start = 0;
  for (; start + block <= count; start += block) {
    uint64_t block_out = 0;
    for (int64_t i = 0; i < block; i++)
      block_out |= (uint64_t(p[start + i]) - first) | (last - uint64_t(p[start + i]));
    out |= block_out;
  }
  for (; start < count; start++) out |= (uint64_t(p[start]) - first) | (last - uint64_t(p[start]));
  return int64_t(out) >= 0;
}
// Positions in [0, n), or in [-n, n) with `wrap`.
template <class E = IndexError>
void check_positions(const Tensor& index, int64_t n, const char* op, bool wrap) {
  const int64_t *p = index.data<int64_t>(), low = wrap ? -n : 0;
  std::atomic<bool> good = true;
  parallel_for(index.numel(), 1 << 16, [&](int64_t begin, int64_t end) {
    if (!all_between(p + begin, end - begin, low, n)) good = false;
  });
  if (good) return;
  for (int64_t i = 0; i < index.numel(); i++)
    if (p[i] < low || p[i] >= n)
      fail<E>("index ", p[i], " is out of bounds for dimension with size ", n, " (", op,
              ", element ", i, " of index)");
}
// What gather and scatter ask of index and src along dimension `d`.
void check_gather_shapes(const char* op, const Tensor& self, int64_t d, const Tensor& index,
                         const Tensor* src);
inline Tensor at_least_1d(const Tensor& t) {
  return t.dim() ? t : flambeau::alias(t, Dims{1}, Dims{1}, t.offset());
}

// Shape as outer x n x inner around one dimension.
struct Around {
  int64_t outer = 1, n = 1, inner = 1;
  Around(IntSpan sizes, int64_t dim) {
    for (size_t d = 0; d < sizes.size(); d++) {
      if (int64_t(d) < dim)
        outer *= sizes[d];
      else if (int64_t(d) == dim)
        n = sizes[d];
      else
        inner *= sizes[d];
    }
  }
};

// Over the rows (innermost dimension) [begin, end) of `index`, calls f(offset in a (strides without
// `dim`), offset in b, linear position in index, index value).
template <class F>
void walk(const Tensor& index, int64_t begin, int64_t end, IntSpan a_strides, IntSpan b_strides,
          int64_t d, F&& f) {
  const size_t last = size_t(index.dim()) - 1;
  const IntSpan sizes = index.sizes();
  auto step = [&](IntSpan strides, size_t k) { return strides.empty() ? 0 : strides[k]; };
  auto step_a = [&](size_t k) { return int64_t(k) == d ? 0 : a_strides[k]; };
  const int64_t n = sizes[last], sa = step_a(last), sb = step(b_strides, last);
  const int64_t* p = index.data<int64_t>();
  for (int64_t row = begin; row < end; row++) {
    int64_t a = 0, b = 0, rest = row;
    for (size_t k = last; k-- > 0; rest /= sizes[k]) {
      a += rest % sizes[k] * step_a(k);
      b += rest % sizes[k] * step(b_strides, k);
    }
    const int64_t start = row * n;
    if (sa == 0 && sb == 1)  // along dense rows: nothing to multiply
      for (int64_t j = 0; j < n; j++) f(a, b + j, start + j, p[start + j]);
    else
      for (int64_t j = 0; j < n; j++) f(a + j * sa, b + j * sb, start + j, p[start + j]);
  }
}
inline int64_t row_count(const Tensor& index) {
  return index.numel() / std::max<int64_t>(index.sizes().back(), 1);
}

}  // namespace flambeau::kernels
