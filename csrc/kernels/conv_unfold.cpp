// Convolutions with few output pixels, in float32: the unfolded input, written once in the order in
// which the product reads it, times the filters as they lie in memory. (A library would first bring
// the filters, here the larger operand, into an order of its own.)
#include <algorithm>

#include "kernels/conv_geometry.h"
#include "kernels/panel_table.h"
#include "kernels/pointwise.h"
#include "runtime/parallel.h"

namespace flambeau {
namespace {

constexpr int64_t kMaxPixels = 1024, kMinOutputs = 24, kMinColumns = 64;

// The input with its zeros around it, or as it is where there are none.
Tensor padded(const ConvGeometry& g, const Tensor& x) {
  if (g.padding[1] == 0 && g.padding[2] == 0) return x;
  const int64_t height = g.in[1] + 2 * g.padding[1], width = g.in[2] + 2 * g.padding[2];
  Tensor out = empty(Dims{g.batch, g.in_channels, height, width}, DType::Float32);
  parallel_for(g.batch * g.in_channels, std::max<int64_t>(1, 16384 / (height * width)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t p = begin; p < end; p++) {
                   float* to = out.data<float>() + p * height * width;
                   const float* from = x.data<float>() + p * g.in[1] * g.in[2];
                   std::fill_n(to, height * width, 0.f);
                   for (int64_t y = 0; y < g.in[1]; y++)
                     std::copy_n(from + y * g.in[2], g.in[2],
                                 to + (y + g.padding[1]) * width + g.padding[2]);
                 }
               });
  return out;
}

}  // namespace

bool unfold_fits(const ConvGeometry& g) {
  return panel_functions() && g.groups == 1 && g.in[0] == 1 && g.kernel[0] == 1 &&
         g.padding[0] == 0 && g.batch * g.out_size() <= kMaxPixels &&
         g.out_channels >= kMinOutputs && g.columns() >= kMinColumns;
}

void unfold_conv(const ConvGeometry& g, const Tensor& x, const Tensor& w, const Tensor* bias,
                 const Tensor& y) {
  const PanelFns* fns = panel_functions();
  const int64_t pixels = g.batch * g.out_size(), k = g.columns();
  const Tensor in = padded(g, x);
  const int64_t height = g.in[1] + 2 * g.padding[1], width = g.in[2] + 2 * g.padding[2];
  std::vector<int64_t> taps;
  for (int64_t ky = 0; ky < g.kernel[1]; ky++)
    for (int64_t kx = 0; kx < g.kernel[2]; kx++)
      taps.push_back(ky * g.dilation[1] * width + kx * g.dilation[2]);
  // panels of pixels, each k rows of `columns`
  const int64_t columns = fns->columns, panels = (pixels + columns - 1) / columns;
  const Tensor unfolded = empty(Dims{panels, k, columns}, DType::Float32);
  parallel_for(
      panels, std::max<int64_t>(1, 16384 / (k * columns)), [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; p++) {
          int64_t at[kMaxPanelColumns];
          for (int64_t l = 0; l < columns; l++) {
            const int64_t pixel = std::min(p * columns + l, pixels - 1),
                          image = pixel / g.out_size(), row = pixel % g.out_size() / g.out[2],
                          column = pixel % g.out[2];
            at[l] =
                (image * g.in_channels * height + row * g.stride[1]) * width + column * g.stride[2];
          }
          fns->gather(in.data<float>(), g.in_channels, height * width, taps.data(),
                      int64_t(taps.size()), at, unfolded.data<float>() + p * k * columns);
        }
      });
  const int64_t items = (g.out_channels + kPanelRows - 1) / kPanelRows;
  parallel_for(items, 1, [&](int64_t begin, int64_t end) {
    float block[kPanelRows * kMaxPanelColumns];
    for (int64_t item = begin; item < end; item++) {
      const int64_t first = item * kPanelRows, rows = std::min(kPanelRows, g.out_channels - first);
      for (int64_t p = 0; p < panels; p++) {
        fns->product(rows, columns, k, w.data<float>() + first * k, 0, k, 1,
                     unfolded.data<float>() + p * k * columns, columns, block, columns);
        for (int64_t l = 0; l < std::min(columns, pixels - p * columns);) {
          const int64_t pixel = p * columns + l, image = pixel / g.out_size(),
                        at = pixel % g.out_size(),
                        run = std::min({columns - l, pixels - pixel, g.out_size() - at});
          for (int64_t r = 0; r < rows; r++) {
            const float b = bias ? bias->data<float>()[first + r] : 0.f;
            float* to = y.data<float>() + (image * g.out_channels + first + r) * g.out_size() + at;
            for (int64_t i = 0; i < run; i++) to[i] = block[r * columns + l + i] + b;
          }
          l += run;
        }
      }
    }
  });
}

}  // namespace flambeau
