// 3×3 convolutions of stride 1 by Winograd's F(4×4, 3×3): 36 products of matrices, a quarter of the
// multiplications, in float32 and on rows of contiguous planes. The error is some ten times that of
// a direct sum (about 1e-5 of the largest output), as with every library that uses this algorithm.
// An infinity or NaN would spread over its tile, and large numbers may overflow early: then the
// caller has to take another way.
#include <algorithm>
#include <atomic>

#include "kernels/conv_geometry.h"
#include "kernels/conv_winograd_table.h"
#include "kernels/gemm.h"
#include "kernels/panel_table.h"
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
constexpr int64_t kManyTiles = 384;   // from which on tiles are shared out, not outputs
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
  float* number(int64_t i) const { return memory.data<float>() + i * step; }
};

// Transformed filters in panels of outputs. Number i of them is a matrix (outputs, inputs), panel
// by panel, and in a panel row by row or column by column.
struct Filters {
  int64_t inputs, step;
  bool by_columns;
  Tensor memory;
  Filters(int64_t panels, int64_t c, bool columns)
      : inputs(c), step(panels * kPanelRows * c + 16), by_columns(columns) {
    memory = empty(Dims{kNumbers * step}, DType::Float32);
  }
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
  const PanelFns& panel;
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

int64_t panels(int64_t outputs) { return (outputs + kPanelRows - 1) / kPanelRows; }

// The filters (out channels, in channels, 3, 3) as a pass sees them: for the gradient of the input,
// outputs and inputs are exchanged, and the filters turned.
struct Bank {
  const float* data;
  int64_t outputs, inputs;
  bool exchanged;
  // A panel of outputs, to the given place among those of u.
  void transform(const WinogradFns& fns, int64_t panel, const Filters& u, int64_t to) const {
    const int64_t first = panel * kPanelRows, count = std::min(kPanelRows, outputs - first);
    float* out = u.number(0) + to * kPanelRows * inputs;
    if (exchanged)
      fns.filter({data + first * 9, inputs, outputs * 9, kPanelRows, count, true}, out, u.step);
    else
      fns.filter({data + first * inputs * 9, 1, 0, count * inputs, count * inputs, false}, out,
                 u.step);
  }
};

struct Pass {
  Images in, out;
  int64_t pad_y, pad_x;
  Bank bank;
  const float* bias;

  void read(const Problem& p, Rows rows, int64_t channel, const Numbers& v) const {
    p.each_image(rows, [&](int64_t image, WinogradTiles t, int64_t at) {
      p.fns.input(in.plane(image, channel), in.size, pad_y, pad_x, t, v.at(channel, at), v.step);
    });
  }
  // Channels of the result from `first` on; whether they are finite.
  bool write(const Problem& p, Rows rows, int64_t first, const Numbers& m) const {
    bool finite = true;
    for (int64_t c = 0; c < m.channels; c++)
      p.each_image(rows, [&](int64_t image, WinogradTiles t, int64_t at) {
        finite &= p.fns.output(m.at(c, at), m.step, t, bias ? bias[first + c] : 0.f,
                               out.plane(image, first + c), out.size);
      });
    return finite;
  }
};

void multiply(const Problem& p, const Filters& u, const Numbers& v, int64_t tiles,
              const Numbers& m) {
  for (int64_t i = 0; i < kNumbers; i++)
    p.panel.product(m.channels, tiles, v.channels, u.number(i), kPanelRows * u.inputs,
                    u.by_columns ? 1 : u.inputs, u.by_columns ? kPanelRows : 1, v.number(i), v.row,
                    m.number(i), m.row, false);
}

// Few tiles: all of them transformed first, then each thread takes some outputs, whose transformed
// filters and results stay in its cache.
bool convolve_by_output(const Problem& p, const Pass& pass) {
  std::atomic<bool> finite = true;
  const Rows rows{0, p.rows()};
  const Numbers v(pass.in.channels, p.tiles());
  parallel_for(v.channels, 4, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; c++) pass.read(p, rows, c, v);
  });
  parallel_for(panels(pass.out.channels), 1, [&](int64_t begin, int64_t end) {
    const Filters u(1, v.channels, pass.bank.exchanged);
    for (int64_t panel = begin; panel < end; panel++) {
      const int64_t first = panel * kPanelRows;
      const Numbers m(std::min(kPanelRows, pass.out.channels - first), p.tiles());
      pass.bank.transform(p.fns, panel, u, 0);
      multiply(p, u, v, p.tiles(), m);
      if (!pass.write(p, rows, first, m)) finite.store(false, std::memory_order_relaxed);
    }
  });
  return finite;
}

// Many tiles: all filters transformed first, then each thread takes some tiles through all steps.
bool convolve_by_tiles(const Problem& p, const Pass& pass) {
  std::atomic<bool> finite = true;
  const int64_t count = panels(pass.bank.outputs);
  const Filters u(count, pass.bank.inputs, pass.bank.exchanged);
  parallel_for(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; panel++) pass.bank.transform(p.fns, panel, u, panel);
  });
  const int64_t items = std::min((p.tiles() / kItemTiles + 1) / 2 * 2, p.rows());
  parallel_for(items, 1, [&](int64_t first, int64_t last) {
    for (int64_t item = first; item < last; item++) {
      const Rows rows{p.rows() * item / items, p.rows() * (item + 1) / items};
      const int64_t tiles = (rows.last - rows.first) * p.across;
      const Numbers v(pass.in.channels, tiles), m(pass.out.channels, tiles);
      for (int64_t c = 0; c < v.channels; c++) pass.read(p, rows, c, v);
      multiply(p, u, v, tiles, m);
      if (!pass.write(p, rows, 0, m)) finite.store(false, std::memory_order_relaxed);
    }
  });
  return finite;
}

// dw from the input and the gradient of the output; sums over blocks of tiles, in their order.
bool weight_grad(const Problem& p, const Images& in, int64_t pad_y, int64_t pad_x,
                 const Images& grad, float* dw) {
  const int64_t filters = grad.channels * in.channels, step = filters + 16;
  const Tensor sums = empty(Dims{kNumbers * step}, DType::Float32);
  const int64_t block = std::max<int64_t>(1, kGradTiles / p.across);
  for (int64_t first = 0; first < p.rows(); first += block) {
    const Rows rows{first, std::min(first + block, p.rows())};
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
    // in groups of three, as 12 groups make six equal chunks
    parallel_for(kNumbers / 3, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = 3 * begin; i < 3 * end; i++)
        gemm(DType::Float32, m.channels, v.channels, tiles, {m.number(i), m.row, 1},
             {v.number(i), 1, v.row}, sums.data<float>() + i * step, v.channels, first > 0, true);
    });
  }
  std::atomic<bool> finite = true;
  parallel_for(filters, 4096, [&](int64_t begin, int64_t end) {
    if (!p.fns.filter_grad(sums.data<float>() + begin, step, end - begin, dw + begin * 9))
      finite.store(false, std::memory_order_relaxed);
  });
  return finite;
}

// Tiles of the operand that is computed; for the gradient of the filters, of the output.
Problem problem(ConvPass pass, const ConvGeometry& g) {
  const int64_t* made = pass == ConvPass::Input ? g.in : g.out;
  return {*functions(), *panel_functions(), g.batch, (made[1] + 3) / 4, (made[2] + 3) / 4};
}

}  // namespace

bool winograd_fits(ConvPass pass, const ConvGeometry& g) {
  for (int d = 0; d < 3; d++)
    if (g.kernel[d] != (d ? 3 : 1) || g.stride[d] != 1 || g.dilation[d] != 1 ||
        g.padding[d] > (d ? 2 : 0))
      return false;
  return functions() && g.in[0] == 1 && g.groups == 1 && g.in_channels >= kMinChannels &&
         g.out_channels >= kMinChannels && problem(pass, g).tiles() >= kMinTiles;
}

bool winograd_conv(ConvPass pass, const ConvGeometry& g, const Tensor& x, const Tensor& w,
                   const Tensor* bias, const Tensor& y) {
  const Images in{x.data<float>(), g.in_channels, {g.in[1], g.in[2]}},
      out{y.data<float>(), g.out_channels, {g.out[1], g.out[2]}};
  const Problem p = problem(pass, g);
  if (pass == ConvPass::Weight)
    return weight_grad(p, in, g.padding[1], g.padding[2], out, w.data<float>());
  const Pass run = pass == ConvPass::Output
                       ? Pass{in,
                              out,
                              g.padding[1],
                              g.padding[2],
                              {w.data<float>(), g.out_channels, g.in_channels, false},
                              bias ? bias->data<float>() : nullptr}
                       : Pass{out,
                              in,
                              2 - g.padding[1],
                              2 - g.padding[2],
                              {w.data<float>(), g.in_channels, g.out_channels, true},
                              nullptr};
  return (p.tiles() < kManyTiles ? convolve_by_output : convolve_by_tiles)(p, run);
}

}  // namespace flambeau
