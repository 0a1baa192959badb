// Forward convolution where every input channel has filters of its own, in float32, plane by plane.
#include <algorithm>
#include <vector>

#include "kernels/conv_depthwise_table.h"
#include "kernels/conv_geometry.h"
#include "kernels/targets.h"
#include "runtime/parallel.h"

namespace flambeau {

#define FLAMBEAU_DECLARE(target)                \
  namespace target {                            \
  extern const DepthwiseFns depthwise_table[1]; \
  }
FLAMBEAU_DECLARE(baseline)
FLAMBEAU_DECLARE(avx2)
FLAMBEAU_DECLARE(avx512)
#undef FLAMBEAU_DECLARE

namespace {
// Its fused operations need an instruction.
const DepthwiseFns* functions() {
  static const DepthwiseFns* const tables[3] = {nullptr, FLAMBEAU_TABLE_AVX2(depthwise_table, 0),
                                                FLAMBEAU_TABLE_AVX512(depthwise_table, 0)};
  return tables[chosen_target()];
}
}  // namespace

bool depthwise_fits(const ConvGeometry& g) {
  return functions() && g.groups == g.in_channels && g.groups > 1 && g.in[0] == 1 &&
         g.kernel[0] == 1 && g.padding[0] == 0;
}

void depthwise_conv(const ConvGeometry& g, const Tensor& x, const Tensor& w, const Tensor* bias,
                    const Tensor& y) {
  const int64_t height = g.in[1] + 2 * g.padding[1], width = g.in[2] + 2 * g.padding[2];
  const DepthwisePlane p{width,
                         g.out[1],
                         g.out[2],
                         {g.kernel[1], g.kernel[2]},
                         {g.stride[1], g.stride[2]},
                         {g.dilation[1], g.dilation[2]}};
  const bool pads = g.padding[1] || g.padding[2];
  const int64_t filters = g.out_channels / g.groups, taps = g.kernel_size();
  parallel_for(g.batch * g.in_channels,
               std::max<int64_t>(1, 65536 / std::max<int64_t>(1, filters * g.out_size() * taps)),
               [&](int64_t begin, int64_t end) {
                 std::vector<float> padded(pads ? size_t(height * width) : 0, 0.f);
                 for (int64_t plane = begin; plane < end; plane++) {
                   const float* in = x.data<float>() + plane * g.in_size();
                   if (pads) {
                     for (int64_t row = 0; row < g.in[1]; row++)
                       std::copy_n(in + row * g.in[2], g.in[2],
                                   padded.data() + (row + g.padding[1]) * width + g.padding[2]);
                     in = padded.data();
                   }
                   for (int64_t f = 0; f < filters; f++) {
                     const int64_t channel = plane % g.in_channels * filters + f;
                     functions()->plane(in, w.data<float>() + channel * taps,
                                        bias ? bias->data<float>()[channel] : 0.f, p,
                                        y.data<float>() + (plane * filters + f) * g.out_size());
                   }
                 }
               });
}

}  // namespace flambeau
