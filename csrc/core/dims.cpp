#include "core/dims.h"

#include "core/error.h"

namespace flambeau {

int64_t wrap_dim(int64_t d, int64_t ndim) {
  int64_t range = std::max<int64_t>(ndim, 1);
  if (d < -range || d >= range) [[unlikely]]
    fail<IndexError>("Dimension out of range (expected to be in range of [", -range, ", ",
                     range - 1, "], but got ", d, ")");
  return d < 0 ? d + range : d;
}

Dims wrap_dims(IntSpan dims, int64_t ndim) {
  Dims out;
  if (dims.empty()) {
    for (int64_t i = 0; i < ndim; i++) out.push_back(i);
    return out;
  }
  for (int64_t d : dims) out.push_back(wrap_dim(d, ndim));
  std::sort(out.begin(), out.end());
  for (size_t i = 1; i < out.size(); i++)
    check(out[i] != out[i - 1], "dim ", out[i], " appears multiple times in the list of dims");
  if (ndim == 0) out.resize(0);
  return out;
}

Dims contiguous_strides(IntSpan sizes) {
  Dims strides;
  strides.resize(sizes.size());
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    // wraps around for sizes whose product is refused elsewhere
    step = int64_t(uint64_t(step) * uint64_t(std::max<int64_t>(sizes[i], 1)));
  }
  return strides;
}

Dims broadcast_shapes(IntSpan a, IntSpan b) {
  size_t n = std::max(a.size(), b.size());
  Dims out;
  out.resize(n);
  for (size_t i = 0; i < n; i++) {
    int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) [[unlikely]]
      fail("The size of tensor a (", x, ") must match the size of tensor b (", y,
           ") at non-singleton dimension ", n - 1 - i, ": shapes ", a, " and ", b,
           " do not broadcast");
    out[n - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

}  // namespace flambeau
