// Tensors (planes, D, H, W) made of weighted sums that are products of one along each dimension.
#pragma once
#include <vector>

#include "core/tensor.h"
#include "kernels/resample_table.h"

namespace flambeau {

template <class T>
const ResampleFns<T>& resample_fns();

// Along one dimension: which inputs each output takes, and their weights. In each of `taps` runs of
// `out` entries one input of each output; -1 for none.
struct Axis {
  int64_t in = 1, out = 1, taps = 0;
  std::vector<int32_t> at;
  std::vector<double> weight;

  Axis(int64_t in, int64_t out, int64_t taps)
      : in(in), out(out), taps(taps), at(size_t(out * taps), -1), weight(size_t(out * taps), 0.0) {}
  void set(int64_t i, int64_t k, int64_t position, double w) {
    at[size_t(k * out + i)] = int32_t(position);
    weight[size_t(k * out + i)] = w;
  }
  bool identity() const;
  // What sends gradients of outputs back to the inputs.
  Axis transposed() const;
};

// For float and double; both contiguous.
template <class T>
void resample(const T* in, T* out, int64_t planes, const Axis& d, const Axis& h, const Axis& w);

// Of a tensor (..., D, H, W), of any real floating dtype; channels stay last where `keep_format`.
Tensor resampled(const Tensor& self, IntSpan result_sizes, const Axis& d, const Axis& h,
                 const Axis& w, bool keep_format = true);

}  // namespace flambeau
