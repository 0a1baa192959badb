// Convolutions with few output pixels, or filters of one, in float32: the unfolded input, in the
// order in which the product reads it, times the filters as they lie in memory. (A library would
// first bring both into an order of its own.)
#include <algorithm>

#include "kernels/conv_geometry.h"
#include "kernels/panel_table.h"
#include "kernels/pointwise.h"
#include "runtime/parallel.h"

namespace flambeau {
namespace {

constexpr int64_t kMaxPixels = 1024, kMinOutputs = 24, kMinColumns = 64;
constexpr int64_t kFewPanels = 64;

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
  // To unfold costs little where the pixels are few, or filters read one number of each channel.
  const bool cheap =
      g.kernel_size() == 1 || (g.batch * g.out_size() <= kMaxPixels && g.columns() >= kMinColumns);
  return cheap && panel_functions() && g.groups == 1 && g.in[0] == 1 && g.kernel[0] == 1 &&
         g.padding[0] == 0 && g.out_channels >= kMinOutputs;
}

void unfold_conv(const ConvGeometry& g, const Tensor& x, const Tensor& w, const Tensor* bias,
                 const Tensor& y) {
  const PanelFns& fns = *panel_functions();
  const int64_t pixels = g.batch * g.out_size(), k = g.columns();
  const Tensor in = padded(g, x);
  const int64_t height = g.in[1] + 2 * g.padding[1], width = g.in[2] + 2 * g.padding[2];
  std::vector<int64_t> taps;
  for (int64_t ky = 0; ky < g.kernel[1]; ky++)
    for (int64_t kx = 0; kx < g.kernel[2]; kx++)
      taps.push_back(ky * g.dilation[1] * width + kx * g.dilation[2]);
  // Panels of `columns` pixels, the last ones repeated: k rows of numbers that they read.
  const int64_t columns = fns.columns, panels = (pixels + columns - 1) / columns;
  auto unfold = [&](int64_t panel, float* to) {
    int64_t at[kMaxPanelColumns];
    for (int64_t l = 0; l < columns; l++) {
      const int64_t pixel = std::min(panel * columns + l, pixels - 1), image = pixel / g.out_size(),
                    row = pixel % g.out_size() / g.out[2], column = pixel % g.out[2];
      at[l] = (image * g.in_channels * height + row * g.stride[1]) * width + column * g.stride[2];
    }
    fns.gather(in.data<float>(), g.in_channels, height * width, taps.data(), int64_t(taps.size()),
               at, to);
  };
  // Outputs [first, first + rows) of a panel, from the numbers at `from`, in rows b_row apart.
  auto multiply = [&](int64_t panel, const float* from, int64_t b_row, int64_t first, int64_t rows,
                      float* block) {
    fns.product(rows, columns, k, w.data<float>() + first * k, kPanelRows * k, k, 1, from, b_row,
                block, columns);
    for (int64_t l = 0; l < std::min(columns, pixels - panel * columns);) {
      const int64_t pixel = panel * columns + l, image = pixel / g.out_size(),
                    at = pixel % g.out_size(),
                    run = std::min({columns - l, pixels - pixel, g.out_size() - at});
      for (int64_t r = 0; r < rows; r++) {
        const float b = bias ? bias->data<float>()[first + r] : 0.f;
        float* to = y.data<float>() + (image * g.out_channels + first + r) * g.out_size() + at;
        for (int64_t i = 0; i < run; i++) to[i] = block[r * columns + l + i] + b;
      }
      l += run;
    }
  };
  if (panels <= kFewPanels) {
    // all unfolded first, then each thread takes some outputs
    const Tensor unfolded = empty(Dims{panels, k, columns}, DType::Float32);
    auto numbers = [&](int64_t panel) { return unfolded.data<float>() + panel * k * columns; };
    parallel_for(panels, std::max<int64_t>(1, 16384 / (k * columns)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t p = begin; p < end; p++) unfold(p, numbers(p));
                 });
    parallel_for((g.out_channels + kPanelRows - 1) / kPanelRows, 1,
                 [&](int64_t begin, int64_t end) {
                   float block[kPanelRows * kMaxPanelColumns];
                   for (int64_t item = begin; item < end; item++)
                     for (int64_t p = 0; p < panels; p++)
                       multiply(p, numbers(p), columns, item * kPanelRows,
                                std::min(kPanelRows, g.out_channels - item * kPanelRows), block);
                 });
    return;
  }
  // each thread takes some pixels
  parallel_for(panels, 4, [&](int64_t begin, int64_t end) {
    const Tensor numbers = empty(Dims{k, columns}, DType::Float32),
                 block = empty(Dims{g.out_channels, columns}, DType::Float32);
    for (int64_t p = begin; p < end; p++) {
      const int64_t image = p * columns / g.out_size(), at = p * columns % g.out_size();
      const float* from = numbers.data<float>();
      int64_t b_row = columns;
      if (g.pointwise() && at + columns <= g.out_size()) {
        // the input is its own unfolding
        from = x.data<float>() + image * g.in_channels * g.out_size() + at;
        b_row = g.out_size();
      } else {
        unfold(p, numbers.data<float>());
      }
      multiply(p, from, b_row, 0, g.out_channels, block.data<float>());
    }
  });
}

}  // namespace flambeau
