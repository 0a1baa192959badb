// The shape of a convolution, for ranks one to three: lower ranks have leading sizes of 1.
#pragma once
#include "core/tensor.h"

namespace flambeau {

struct ConvGeometry {
  int64_t batch, in_channels, out_channels, groups;
  int64_t in[3], out[3], kernel[3], stride[3], padding[3], dilation[3];
  int64_t in_size() const { return in[0] * in[1] * in[2]; }
  int64_t out_size() const { return out[0] * out[1] * out[2]; }
  int64_t kernel_size() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t columns() const { return in_channels / groups * kernel_size(); }
  double flops() const {
    return 2.0 * double(batch * out_channels * out_size()) * double(columns());
  }
  // That of the pass which brings outputs back to inputs, for filters of one number per channel.
  ConvGeometry exchanged() const {
    ConvGeometry g = *this;
    std::swap(g.in_channels, g.out_channels);
    return g;
  }
  // The unfolded input is the input itself.
  bool pointwise() const {
    for (int d = 0; d < 3; d++)
      if (kernel[d] != 1 || stride[d] != 1 || padding[d] != 0) return false;
    return true;
  }
};

// Which operand of the bilinear map is computed.
enum class ConvPass : uint8_t { Output, Input, Weight };

// Computes one operand (float32, laid out contiguously or channels-last) from the other two. `bias`
// may be null. False when the library is absent, switched off by FLAMBEAU_NO_ONEDNN, or has no
// kernel for the shape.
bool onednn_conv(ConvPass pass, const ConvGeometry& g, int rank, const Tensor& x, const Tensor& w,
                 const Tensor* bias, const Tensor& y);
// Kernels on contiguous tensors of float32, each for the problems that its ..._fits names; none on
// processors without fused operations.
// Dense 3×3 filters of stride 1, not few channels or tiles. False, with nothing of use in the
// result, when that is not finite.
bool winograd_fits(ConvPass pass, const ConvGeometry& g);
bool winograd_conv(ConvPass pass, const ConvGeometry& g, const Tensor& x, const Tensor& w,
                   const Tensor* bias, const Tensor& y);
// The output, of few pixels or by filters of one.
bool unfold_fits(const ConvGeometry& g);
void unfold_conv(const ConvGeometry& g, const Tensor& x, const Tensor& w, const Tensor* bias,
                 const Tensor& y);
// The output, where every channel of the input is a group.
bool depthwise_fits(const ConvGeometry& g);
void depthwise_conv(const ConvGeometry& g, const Tensor& x, const Tensor& w, const Tensor* bias,
                    const Tensor& y);

}  // namespace flambeau
