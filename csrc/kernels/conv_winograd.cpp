// 3×3 convolutions of stride 1 by Winograd's F(4×4, 3×3): 36 products of matrices, a quarter of the
// multiplications, in float32 and on rows of contiguous planes. The error is some ten times that of
// a direct sum (about 1e-5 of the largest output), as with every library that uses this algorithm.
#include <algorithm>

#include "kernels/conv_geometry.h"
#include "kernels/conv_winograd_table.h"
#include "kernels/gemm.h"
#include "kernels/targets.h"
#include "runtime/parallel.h"

namespace flambeau {

#define FLAMBEAU_DECLARE(target)              \
  namespace target {                          \
  extern const WinogradFns winograd_table[1]; \
  }
FLAMBEAU_DECLARE(baseline)
FLAMBEAU_DECLARE(avx2)
FLAMBEAU_DECLARE(avx512)
#undef FLAMBEAU_DECLARE

namespace {

constexpr int64_t kNumbers = 36;      // of a transformed tile or filter
constexpr int64_t kItemTiles = 192;   // tiles that one thread takes through all steps
constexpr int64_t kGradTiles = 1024;  // tiles between two sums of the weights' gradient
constexpr int64_t kMinTiles = 16, kMinChannels = 24;

// The fused operations of the transforms need an instruction.
const WinogradFns* functions() {
  static const WinogradFns* const tables[3] = {nullptr, FLAMBEAU_TABLE_AVX2(winograd_table, 0),
                                               FLAMBEAU_TABLE_AVX512(winograd_table, 0)};
  return tables[chosen_target()];
}

// Transformed tiles: number i of channel c is a row of tiles.
struct Numbers {
  int64_t channels, row, step;  // row: from channel to channel; step: from number to number
  Tensor memory;
  Numbers(int64_t c, int64_t tiles) : channels(c) {
    // rows start at different sets of the first-level cache
    row = ((tiles + kWinogradSlack + 15) / 16 | 1) * 16;
    step = channels * row + 16;
    memory = empty(Dims{kNumbers * step}, DType::Float32);
  }
  float* at(int64_t channel, int64_t tile) const {
    return memory.data<float>() + channel * row + tile;
  }
  MatrixArg matrix(int64_t i) const { return {memory.data<float>() + i * step, row, 1}; }
  MatrixArg transposed(int64_t i) const { return {memory.data<float>() + i * step, 1, row}; }
};

// Filters, or their gradients: number i of them all is a matrix (out channels, in channels).
struct Filters {
  int64_t outputs, inputs, step;
  Tensor memory;
  Filters(int64_t o, int64_t c) : outputs(o), inputs(c), step(o * c + 16) {
    memory = empty(Dims{kNumbers * step}, DType::Float32);
  }
  float* at(int64_t output) const { return memory.data<float>() + output * inputs; }
  float* number(int64_t i) const { return memory.data<float>() + i * step; }
};

struct Images {
  float* data;
  int64_t channels;
  WinogradPlane size;
  float* plane(int64_t image, int64_t channel) const {
    return data + (image * channels + channel) * size.height * size.width;
  }
};

// Rows of tiles, counted through all images.
struct Rows {
  int64_t first, last;
};

struct Problem {
  const WinogradFns& fns;
  int64_t batch, down, across;  // tiles of an image
  int64_t rows() const { return batch * down; }
  int64_t tiles() const { return rows() * across; }

  // f(image, tiles, number of the first tile, counted from that of `r`)
  template <class F>
  void each_image(Rows r, F&& f) const {
    for (int64_t row = r.first; row < r.last;) {
      const int64_t begin = row % down, end = std::min(down, begin + r.last - row);
      f(row / down, WinogradTiles{begin, end, across}, (row - r.first) * across);
      row += end - begin;
    }
  }
};

// f(begin, end) over [0, n), by all threads or by this one.
template <class F>
void share(bool parallel, int64_t n, int64_t grain, F&& f) {
  if (parallel)
    parallel_for(n, grain, f);
  else
    f(int64_t(0), n);
}
// The numbers in groups of three: 12 groups are six chunks.
template <class F>
void share_numbers(bool parallel, F&& f) {
  share(parallel, kNumbers / 3, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = 3 * begin; i < 3 * end; i++) f(i);
  });
}

Filters transformed(const WinogradFns& fns, const Tensor& w, bool turned) {
  Filters u(w.sizes()[0], w.sizes()[1]);
  parallel_for(u.outputs, std::max<int64_t>(1, 4096 / u.inputs), [&](int64_t begin, int64_t end) {
    fns.filter(w.data<float>() + begin * u.inputs * 9, (end - begin) * u.inputs, turned,
               u.at(begin), u.step);
  });
  return u;
}

// out = filters · in (or filtersᵀ · in, when the input's channels are the filters' outputs).
void convolve(const Problem& p, const Images& in, int64_t pad_y, int64_t pad_x, const Filters& u,
              bool transposed, const float* bias, const Images& out) {
  const int64_t wanted = p.tiles() > 2 * kItemTiles ? (p.tiles() + kItemTiles - 1) / kItemTiles : 1;
  const int64_t items = std::min(wanted > 1 ? (wanted + 1) / 2 * 2 : 1, p.rows());
  const bool inner = items == 1;  // one item: every step is shared out instead
  parallel_for(items, 1, [&](int64_t first, int64_t last) {
    for (int64_t item = first; item < last; item++) {
      const Rows rows{p.rows() * item / items, p.rows() * (item + 1) / items};
      const int64_t tiles = (rows.last - rows.first) * p.across;
      const Numbers v(in.channels, tiles), m(out.channels, tiles);
      share(inner, v.channels, 4, [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; c++)
          p.each_image(rows, [&](int64_t image, WinogradTiles t, int64_t at) {
            p.fns.input(in.plane(image, c), in.size, pad_y, pad_x, t, v.at(c, at), v.step);
          });
      });
      share_numbers(inner, [&](int64_t i) {
        const MatrixArg filters =
            transposed ? MatrixArg{u.number(i), 1, u.inputs} : MatrixArg{u.number(i), u.inputs, 1};
        gemm(DType::Float32, m.channels, tiles, v.channels, filters, v.matrix(i),
             m.memory.data<float>() + i * m.step, m.row, false, true);
      });
      share(inner, m.channels, 4, [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; c++)
          p.each_image(rows, [&](int64_t image, WinogradTiles t, int64_t at) {
            p.fns.output(m.at(c, at), m.step, t, bias ? bias[c] : 0.f, out.plane(image, c),
                         out.size);
          });
      });
    }
  });
}

// dw from the input and the gradient of the output; sums over blocks of tiles, in their order.
void weight_grad(const Problem& p, const Images& in, int64_t pad_y, int64_t pad_x,
                 const Images& grad, float* dw) {
  const Filters u(grad.channels, in.channels);
  const int64_t step = std::max<int64_t>(1, kGradTiles / p.across);
  for (int64_t first = 0; first < p.rows(); first += step) {
    const Rows rows{first, std::min(first + step, p.rows())};
    const int64_t tiles = (rows.last - rows.first) * p.across;
    const Numbers v(in.channels, tiles), m(grad.channels, tiles);
    parallel_for(v.channels + m.channels, 4, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; c++)
        p.each_image(rows, [&](int64_t image, WinogradTiles t, int64_t at) {
          if (c < v.channels) {
            p.fns.input(in.plane(image, c), in.size, pad_y, pad_x, t, v.at(c, at), v.step);
          } else {
            const int64_t o = c - v.channels;
            p.fns.output_grad(grad.plane(image, o), grad.size, t, m.at(o, at), m.step);
          }
        });
    });
    share_numbers(true, [&](int64_t i) {
      gemm(DType::Float32, u.outputs, u.inputs, tiles, m.matrix(i), v.transposed(i), u.number(i),
           u.inputs, first > 0, true);
    });
  }
  parallel_for(u.outputs, std::max<int64_t>(1, 4096 / u.inputs), [&](int64_t begin, int64_t end) {
    p.fns.filter_grad(u.at(begin), u.step, (end - begin) * u.inputs, dw + begin * u.inputs * 9);
  });
}

bool fits(const ConvGeometry& g) {
  for (int d = 0; d < 3; d++)
    if (g.kernel[d] != (d ? 3 : 1) || g.stride[d] != 1 || g.dilation[d] != 1 ||
        g.padding[d] > (d ? 2 : 0))
      return false;
  return g.in[0] == 1 && g.groups == 1 && g.in_channels >= kMinChannels &&
         g.out_channels >= kMinChannels;
}

}  // namespace

bool winograd_conv(ConvPass pass, const ConvGeometry& g, const Tensor& x, const Tensor& w,
                   const Tensor* bias, const Tensor& y) {
  const WinogradFns* fns = functions();
  if (!fns || !fits(g) || !x.is_contiguous() || !w.is_contiguous() || !y.is_contiguous())
    return false;
  const Images in{x.data<float>(), g.in_channels, {g.in[1], g.in[2]}},
      out{y.data<float>(), g.out_channels, {g.out[1], g.out[2]}};
  const WinogradPlane& made = pass == ConvPass::Input ? in.size : out.size;
  const Problem p{*fns, g.batch, (made.height + 3) / 4, (made.width + 3) / 4};
  if (p.tiles() < kMinTiles) return false;
  if (pass == ConvPass::Output)
    convolve(p, in, g.padding[1], g.padding[2], transformed(*fns, w, false), false,
             bias ? bias->data<float>() : nullptr, out);
  else if (pass == ConvPass::Input)
    convolve(p, out, 2 - g.padding[1], 2 - g.padding[2], transformed(*fns, w, true), true, nullptr,
             in);
  else
    weight_grad(p, in, g.padding[1], g.padding[2], out, w.data<float>());
  return true;
}

}  // namespace flambeau
