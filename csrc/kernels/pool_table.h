// Inner loop of max pooling. Plain types only: the header is also compiled once per instruction
// set.
#pragma once
#include <cstdint>

namespace flambeau {

// Windows along a row: window i takes the numbers i * stride - padding + k * dilation, k < taps,
// that lie in [0, width).
struct RowWindows {
  int64_t count, stride, padding, dilation, taps, width;
};

struct PoolFns {
  // best[i], where[i]: the largest number so far and its position; those of row `x`, whose first
  // position is `base`, replace them where they are larger, or NaN.
  // `where` may be null.
  void (*max_row)(const float* x, int32_t base, const RowWindows& w, float* best, int32_t* where);
};

}  // namespace flambeau
