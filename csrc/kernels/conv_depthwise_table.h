// Inner loops of depthwise convolution. Plain types only: the header is also compiled once per
// instruction set.
#pragma once
#include <cstdint>

namespace flambeau {

struct DepthwisePlane {
  int64_t width;  // of the input, which has its padding around it
  int64_t out_height, out_width;
  int64_t kernel[2], stride[2], dilation[2];
};

struct DepthwiseFns {
  // One plane of the output: taps in their order, by fused operations.
  void (*plane)(const float* x, const float* w, float bias, const DepthwisePlane& p, float* y);
};

}  // namespace flambeau
