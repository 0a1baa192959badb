// Depthwise convolution of one plane: lanes are neighbours in a row of the output.
#include "kernels/conv_depthwise_table.h"
#include "simd/target.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

// Filters of 3×3 keep their weights and a row of sums in registers.
template <int64_t Stride>
void plane_3x3(const float* x, const float* w, float bias, const DepthwisePlane& p, float* y) {
  const float w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3], w4 = w[4], w5 = w[5], w6 = w[6],
              w7 = w[7], w8 = w[8];
  for (int64_t row = 0; row < p.out_height; row++, y += p.out_width) {
    const float *a = x + row * p.stride[0] * p.width, *b = a + p.width, *c = b + p.width;
#pragma GCC ivdep
    for (int64_t i = 0; i < p.out_width; i++) {
      const int64_t at = i * Stride;
      float sum = fma(w0, a[at], bias);
      sum = fma(w1, a[at + 1], sum);
      sum = fma(w2, a[at + 2], sum);
      sum = fma(w3, b[at], sum);
      sum = fma(w4, b[at + 1], sum);
      sum = fma(w5, b[at + 2], sum);
      sum = fma(w6, c[at], sum);
      sum = fma(w7, c[at + 1], sum);
      y[i] = fma(w8, c[at + 2], sum);
    }
  }
}

template <int64_t Stride>
void add_tap(const float* x, float w, int64_t n, int64_t stride, float* y) {
  const int64_t s = Stride ? Stride : stride;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) y[i] = fma(w, x[i * s], y[i]);
}

void plane(const float* x, const float* w, float bias, const DepthwisePlane& p, float* y) {
  if (p.kernel[0] == 3 && p.kernel[1] == 3 && p.dilation[0] == 1 && p.dilation[1] == 1) {
    if (p.stride[1] == 1) return plane_3x3<1>(x, w, bias, p, y);
    if (p.stride[1] == 2) return plane_3x3<2>(x, w, bias, p, y);
  }
  auto* const tap = p.stride[1] == 1 ? add_tap<1> : p.stride[1] == 2 ? add_tap<2> : add_tap<0>;
  for (int64_t row = 0; row < p.out_height; row++, y += p.out_width) {
    for (int64_t i = 0; i < p.out_width; i++) y[i] = bias;
    for (int64_t ky = 0; ky < p.kernel[0]; ky++)
      for (int64_t kx = 0; kx < p.kernel[1]; kx++)
        tap(x + (row * p.stride[0] + ky * p.dilation[0]) * p.width + kx * p.dilation[1],
            w[ky * p.kernel[1] + kx], p.out_width, p.stride[1], y);
  }
}

}  // namespace

extern const DepthwiseFns depthwise_table[1];
const DepthwiseFns depthwise_table[1] = {{plane}};

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
