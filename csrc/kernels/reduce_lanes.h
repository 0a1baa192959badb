// Reduction of contiguous elements in a fixed order: 16 virtual lanes, folded in halves at the end.
// Long inner loops over lane arrays vectorize on every target, and the order is the same on all of
// them.
#pragma once
#include "simd/loops.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {

constexpr int kLanes = 16;

// The merged parts i, i + kLanes, … of `Rows` rows of lanes, pairwise.
template <int Rows, class Map, class Merge>
FLAMBEAU_INLINE auto merge_rows(int64_t i, const Map& map, const Merge& merge) {
  if constexpr (Rows == 1)
    return map(i);
  else
    return merge(merge_rows<Rows / 2>(i, map, merge),
                 merge_rows<Rows / 2>(i + Rows / 2 * kLanes, map, merge));
}

// map(i): element i as a part; merge(a, b): both together, of parts and of accumulators. A part may
// be narrower than the accumulator A: eight are merged before they are widened.
template <class A, class Map, class Merge>
FLAMBEAU_INLINE A reduce_lanes(int64_t n, A identity, Map map, Merge merge) {
  if (n <= 16) {
    A a = identity;
    for (int64_t i = 0; i < n; i++) a = merge(a, A(map(i)));
    return a;
  }
  A lane[kLanes];
  for (int l = 0; l < kLanes; l++) lane[l] = identity;
  constexpr int rows = 8;
  int64_t i = 0;
  for (; i + rows * kLanes <= n; i += rows * kLanes)
    for (int l = 0; l < kLanes; l++)
      lane[l] = merge(lane[l], A(merge_rows<rows>(i + l, map, merge)));
  for (; i + kLanes <= n; i += kLanes)
    for (int l = 0; l < kLanes; l++) lane[l] = merge(lane[l], A(map(i + l)));
  const int rest = int(n - i);
  for (int l = 0; l < rest; l++) lane[l] = merge(lane[l], A(map(i + l)));
  for (int w = kLanes / 2; w; w /= 2)
    for (int l = 0; l < w; l++) lane[l] = merge(lane[l], lane[l + w]);
  return lane[0];
}

// Two sums of doubles in one pass: first(i) and second(i) over i < n.
template <class First, class Second>
FLAMBEAU_INLINE void sum_both(int64_t n, double* a, double* b, First first, Second second) {
  double p[kLanes], q[kLanes];
  for (int l = 0; l < kLanes; l++) p[l] = q[l] = 0;
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes)
    for (int l = 0; l < kLanes; l++) {
      p[l] += first(i + l) + first(i + kLanes + l);
      q[l] += second(i + l) + second(i + kLanes + l);
    }
  for (; i < n; i += kLanes) {
    const int rest = n - i < kLanes ? int(n - i) : kLanes;
    for (int l = 0; l < rest; l++) {
      p[l] += first(i + l);
      q[l] += second(i + l);
    }
  }
  for (int w = kLanes / 2; w; w /= 2)
    for (int l = 0; l < w; l++) {
      p[l] += p[l + w];
      q[l] += q[l + w];
    }
  *a = p[0];
  *b = q[0];
}

// acc[c] over rows r of map(r, c), strip by strip so that the accumulators stay in the L1 cache.
template <class A, class Map, class Merge>
FLAMBEAU_INLINE void reduce_columns(A* acc, int64_t rows, int64_t cols, A identity, Map map,
                                    Merge merge) {
  constexpr int64_t strip = 512;
  for (int64_t begin = 0; begin < cols; begin += strip) {
    const int64_t end = begin + strip < cols ? begin + strip : cols;
    for (int64_t c = begin; c < end; c++) acc[c] = identity;
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4) {
#pragma GCC ivdep
      for (int64_t c = begin; c < end; c++)
        acc[c] = merge(
            acc[c], A(merge(merge(map(r, c), map(r + 1, c)), merge(map(r + 2, c), map(r + 3, c)))));
    }
    for (; r < rows; r++) {
#pragma GCC ivdep
      for (int64_t c = begin; c < end; c++) acc[c] = merge(acc[c], A(map(r, c)));
    }
  }
}

template <Floating T>
FLAMBEAU_INLINE T sum_lanes(const T* x, int64_t n) {
  return T(
      reduce_lanes(n, 0.0, [x](int64_t i) { return x[i]; }, [](auto a, auto b) { return a + b; }));
}
template <Floating T>
FLAMBEAU_INLINE T max_lanes(const T* x, int64_t n) {
  return reduce_lanes(
      n, -kInf<T>, [x](int64_t i) { return x[i]; }, [](T a, T b) { return maximum(a, b); });
}

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
