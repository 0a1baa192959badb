// Rows of max pooling: one tap of all windows at a time.
#include "kernels/pool_table.h"
#include "simd/target.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

// Stride: known when compiled, or 0 for `stride`. Where only the numbers are wanted, `where` is
// null.
template <int64_t Stride, bool Places>
void take(const float* x, int32_t base, int64_t begin, int64_t end, int64_t stride, float* best,
          int32_t* where) {
  const int64_t s = Stride ? Stride : stride;
#pragma GCC ivdep
  for (int64_t i = begin; i < end; i++) {
    const float v = x[i * s], b = best[i];
    const bool larger = (v > b) | (v != v);
    best[i] = larger ? v : b;
    if constexpr (Places) where[i] = larger ? base + int32_t(i * s) : where[i];
  }
}
template <bool Places>
auto take_for(int64_t stride) {
  return stride == 1 ? take<1, Places> : stride == 2 ? take<2, Places> : take<0, Places>;
}

void max_row(const float* x, int32_t base, const RowWindows& w, float* best, int32_t* where) {
  for (int64_t k = 0; k < w.taps; k++) {
    const int64_t at = k * w.dilation - w.padding, last = w.width - 1 - at;
    if (last < 0) return;
    const int64_t begin = at >= 0 ? 0 : (-at + w.stride - 1) / w.stride;
    int64_t end = last / w.stride + 1;
    if (end > w.count) end = w.count;
    auto* const run = where ? take_for<true>(w.stride) : take_for<false>(w.stride);
    run(x + at, base + int32_t(at), begin, end, w.stride, best, where);
  }
}

}  // namespace

extern const PoolFns pool_table[1];
const PoolFns pool_table[1] = {{max_row}};

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
