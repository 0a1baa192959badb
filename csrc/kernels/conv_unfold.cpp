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
  // Sums over the numbers [begin, end) of outputs [first, first + rows) of a panel.
  auto multiply = [&](int64_t panel, const float* from, int64_t b_row, int64_t first, int64_t rows,
                      int64_t begin, int64_t end, float* block, int64_t c_row) {
    fns.product(rows, std::min(columns, pixels - panel * columns), end - begin,
                w.data<float>() + first * k + begin, kPanelRows * k, k, 1, from + begin * b_row,
                b_row, block, c_row, begin > 0);
  };
  auto write = [&](int64_t panel, int64_t first, int64_t rows, const float* block, int64_t c_row) {
    for (int64_t l = 0; l < std::min(columns, pixels - panel * columns);) {
      const int64_t pixel = panel * columns + l, image = pixel / g.out_size(),
                    at = pixel % g.out_size(),
                    run = std::min({columns - l, pixels - pixel, g.out_size() - at});
      for (int64_t r = 0; r < rows; r++) {
        const float b = bias ? bias->data<float>()[first + r] : 0.f;
        float* to = y.data<float>() + (image * g.out_channels + first + r) * g.out_size() + at;
        for (int64_t i = 0; i < run; i++) to[i] = block[r * c_row + l + i] + b;
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
    // Few numbers at a time: what all panels have of them stays in the second-level cache.
    constexpr int64_t kOutputs = 4 * kPanelRows, kDepth = 256;
    const int64_t c_row = panels * columns;
    parallel_for((g.out_channels + kOutputs - 1) / kOutputs, 1, [&](int64_t begin, int64_t end) {
      const Tensor block = empty(Dims{kOutputs, c_row}, DType::Float32);
      for (int64_t item = begin; item < end; item++) {
        const int64_t first = item * kOutputs, rows = std::min(kOutputs, g.out_channels - first);
        for (int64_t at = 0; at < k; at += kDepth)
          for (int64_t p = 0; p < panels; p++)
            multiply(p, numbers(p), columns, first, rows, at, std::min(k, at + kDepth),
                     block.data<float>() + p * columns, c_row);
        for (int64_t p = 0; p < panels; p++)
          write(p, first, rows, block.data<float>() + p * columns, c_row);
      }
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
      multiply(p, from, b_row, 0, g.out_channels, 0, k, block.data<float>(), columns);
      write(p, 0, g.out_channels, block.data<float>(), columns);
    }
  });
}

}  // namespace flambeau
