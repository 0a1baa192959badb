// Transforms of Winograd's F(4×4, 3×3) with the interpolation points 0, ±1, ±2, ∞ (Lavin & Gray,
// "Fast Algorithms for Convolutional Neural Networks", 2016). Planes are rows of numbers, so lanes
// are tiles: the columns of a plane are dealt out to four arrays by their position in a tile, and
// number (r, q) of all tiles of a block is one run of such an array.
#include <algorithm>
#include <cstring>

#include "kernels/conv_winograd_table.h"
#include "kernels/panel_table.h"
#include "simd/target.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

constexpr int64_t kLanes = 16;  // loops run over whole groups of lanes
constexpr int64_t kBlock = 64;  // lanes of a block
constexpr int64_t kWide = 12;   // rows of so many tiles fill the lanes by themselves
constexpr int64_t kRoom = kBlock + kLanes;

constexpr int64_t whole_lanes(int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// f(lane) for whole groups of lanes.
template <class F>
FLAMBEAU_INLINE void each_lane(int64_t n, F&& f) {
  for (int64_t at = 0; at < n; at += kLanes) {
#pragma GCC ivdep
    for (int64_t l = at; l < at + kLanes; l++) f(l);
  }
}

// One-dimensional transforms of a lane; `load(k)` and `store(k, value)` reach its numbers.
template <class Load, class Store>
FLAMBEAU_INLINE void input_line(Load&& load, Store&& store) {  // Bᵀ
  const float d0 = load(0), d1 = load(1), d2 = load(2), d3 = load(3), d4 = load(4), d5 = load(5);
  const float a = fma(-4.f, d2, d4), b = fma(-4.f, d1, d3), c = d4 - d2, e = 2.f * (d3 - d1);
  store(0, fma(4.f, d0, fma(-5.f, d2, d4)));
  store(1, a + b);
  store(2, a - b);
  store(3, c + e);
  store(4, c - e);
  store(5, fma(4.f, d1, fma(-5.f, d3, d5)));
}
template <class Load, class Store>
FLAMBEAU_INLINE void output_line(Load&& load, Store&& store) {  // Aᵀ
  const float m0 = load(0), m1 = load(1), m2 = load(2), m3 = load(3), m4 = load(4), m5 = load(5);
  const float a = m1 + m2, b = m1 - m2, c = m3 + m4, e = m3 - m4;
  store(0, m0 + (a + c));
  store(1, fma(2.f, e, b));
  store(2, fma(4.f, c, a));
  store(3, fma(8.f, e, b) + m5);
}
template <class Load, class Store>
FLAMBEAU_INLINE void output_grad_line(Load&& load, Store&& store) {  // A
  const float d0 = load(0), d1 = load(1), d2 = load(2), d3 = load(3);
  const float a = d0 + d2, b = d1 + d3, c = fma(4.f, d2, d0), e = fma(8.f, d3, 2.f * d1);
  store(0, d0);
  store(1, a + b);
  store(2, a - b);
  store(3, c + e);
  store(4, c - e);
  store(5, d3);
}
template <class Load, class Store>
FLAMBEAU_INLINE void filter_line(Load&& load, Store&& store) {  // G
  const float w0 = load(0), w1 = load(1), w2 = load(2);
  const float a = (w0 + w2) * (1.f / 6.f), b = w1 * (1.f / 6.f);
  const float c = fma(w0, 1.f / 24.f, w2 * (1.f / 6.f)), e = w1 * (1.f / 12.f);
  store(0, w0 * 0.25f);
  store(1, -(a + b));
  store(2, b - a);
  store(3, c + e);
  store(4, c - e);
  store(5, w2);
}
template <class Load, class Store>
FLAMBEAU_INLINE void filter_grad_line(Load&& load, Store&& store) {  // Gᵀ
  const float u0 = load(0), u1 = load(1), u2 = load(2), u3 = load(3), u4 = load(4), u5 = load(5);
  const float a = u1 + u2, b = u2 - u1, c = u3 + u4, e = u3 - u4;
  store(0, fma(0.25f, u0, fma(-1.f / 6.f, a, (1.f / 24.f) * c)));
  store(1, fma(1.f / 6.f, b, (1.f / 12.f) * e));
  store(2, fma(1.f / 6.f, c - a, u5));
}

// One row of a plane (null: of zeros), from column `left` on, dealt out by column modulo 4: columns
// 4·j + q to to[q * phase + j], j < n. Outside of the plane there are zeros.
FLAMBEAU_INLINE void deal(const float* row, int64_t width, int64_t left, int64_t n, float* to,
                          int64_t phase) {
  constexpr int64_t kGroup = 8;
  // [begin, end): where all four columns are inside
  int64_t begin = row ? (3 - left) >> 2 : n, end = row ? (width - left) >> 2 : n;
  begin = begin < 0 ? 0 : begin < n ? begin : n;
  end = end < begin ? begin : end < n ? end : n;
  auto group = [&](int64_t at) {
#pragma GCC ivdep
    for (int64_t j = at; j < at + kGroup; j++) {
      const float* from = row + (left + 4 * j);
      to[j] = from[0];
      to[phase + j] = from[1];
      to[2 * phase + j] = from[2];
      to[3 * phase + j] = from[3];
    }
  };
  auto careful = [&](int64_t first, int64_t last) {
    for (int64_t j = first; j < last; j++)
      for (int64_t q = 0; q < 4; q++) {
        const int64_t x = left + 4 * j + q;
        to[q * phase + j] = row && x >= 0 && x < width ? row[x] : 0.f;
      }
  };
  careful(0, begin);
  if (end - begin >= kGroup) {
    int64_t at = begin;
    for (; at + kGroup <= end; at += kGroup) group(at);
    if (at < end) group(end - kGroup);
  } else {
    for (int64_t j = begin; j < end; j++)
      for (int64_t q = 0; q < 4; q++) to[q * phase + j] = row[left + 4 * j + q];
  }
  careful(end, n);
}

// Blocks of at most kBlock lanes: f(first tile row, rows, first tile of a row, tiles).
template <class F>
FLAMBEAU_INLINE void each_block(WinogradTiles t, int64_t lanes_per_row, F&& f) {
  if (t.across >= kWide) {
    for (int64_t y = t.first; y < t.last; y++)
      for (int64_t x = 0; x < t.across; x += kBlock) f(y, 1, x, std::min(kBlock, t.across - x));
  } else {
    const int64_t rows = kBlock / lanes_per_row;
    for (int64_t y = t.first; y < t.last; y += rows) f(y, std::min(rows, t.last - y), 0, t.across);
  }
}

void input(const float* plane, WinogradPlane size, int64_t pad_y, int64_t pad_x,
           WinogradTiles tiles, float* out, int64_t step) {
  // Tiles reach two columns and rows into the next ones: a row of lanes has one more than tiles.
  constexpr int64_t kPhase = 2 * kRoom + kLanes;
  alignas(64) float dealt[16 * kPhase], half[36 * kRoom], whole[36 * kRoom];
  each_block(tiles, tiles.across + 1, [&](int64_t ty, int64_t rows, int64_t tx, int64_t n) {
    const int64_t pitch = n + 1, lanes = whole_lanes(rows == 1 ? n : rows * pitch);
    for (int64_t r = 0; r < 4 * rows + 2; r++) {
      const int64_t y = 4 * ty - pad_y + r;
      const float* row = y >= 0 && y < size.height ? plane + y * size.width : nullptr;
      deal(row, size.width, 4 * tx - pad_x, pitch, dealt + r % 4 * 4 * kPhase + r / 4 * pitch,
           kPhase);
    }
    for (int64_t a = 0; a < 16; a++) {  // rows 0 and 1 modulo 4 have one more line
      const int64_t dealt_out = (rows + (a < 8)) * pitch;
      for (int64_t l = dealt_out; l < lanes + pitch + 1; l++) dealt[a * kPhase + l] = 0.f;
    }
    for (int64_t q = 0; q < 6; q++) {
      const float* from = dealt + q % 4 * kPhase + q / 4;
      float* to = half + q * kRoom;
      each_lane(lanes, [&](int64_t l) {
        input_line([&](int r) { return from[r % 4 * 4 * kPhase + r / 4 * pitch + l]; },
                   [&](int r, float v) { to[r * 6 * kRoom + l] = v; });
      });
    }
    float* target = out + (ty - tiles.first) * tiles.across + tx;
    float* result = rows == 1 ? target : whole;
    const int64_t result_step = rows == 1 ? step : kRoom;
    for (int64_t r = 0; r < 6; r++) {
      const float* from = half + r * 6 * kRoom;
      float* to = result + r * 6 * result_step;
      each_lane(lanes, [&](int64_t l) {
        input_line([&](int q) { return from[q * kRoom + l]; },
                   [&](int q, float v) { to[q * result_step + l] = v; });
      });
    }
    if (rows == 1) return;
    for (int64_t i = 0; i < 36; i++)
      for (int64_t y = 0; y < rows; y++)  // the rest of a copy is overwritten by the next one
        std::memcpy(target + i * step + y * n, whole + i * kRoom + y * pitch, 4 * kWide);
  });
}

// Whether n numbers are finite.
FLAMBEAU_INLINE bool finite(const float* x, int64_t n) {
  int32_t bad = 0;
  for (int64_t i = 0; i < n; i++) bad |= !(__builtin_fabsf(x[i]) < kInf<float>);
  return bad == 0;
}

bool output(const float* in, int64_t step, WinogradTiles tiles, float bias, float* plane,
            WinogradPlane size) {
  alignas(64) float half[24 * kRoom], whole[16 * kRoom], line[4 * kRoom];
  bool all_finite = true;
  each_block(tiles, tiles.across, [&](int64_t ty, int64_t rows, int64_t tx, int64_t n) {
    const float* source = in + (ty - tiles.first) * tiles.across + tx;
    const int64_t lanes = whole_lanes(rows * n);
    for (int64_t q = 0; q < 6; q++)
      each_lane(lanes, [&](int64_t l) {
        output_line([&](int r) { return source[(r * 6 + q) * step + l]; },
                    [&](int r, float v) { half[(r * 6 + q) * kRoom + l] = v; });
      });
    for (int64_t r = 0; r < 4; r++)
      each_lane(lanes, [&](int64_t l) {
        output_line([&](int q) { return half[(r * 6 + q) * kRoom + l]; },
                    [&](int q, float v) { whole[(r * 4 + q) * kRoom + l] = v + bias; });
      });
    const int64_t columns = std::min(4 * n, size.width - 4 * tx);
    for (int64_t y = 0; y < rows; y++)
      for (int64_t r = 0; r < 4; r++) {
        const int64_t row = 4 * (ty + y) + r;
        if (row >= size.height) break;
        const float* from = whole + r * 4 * kRoom + y * n;
#pragma GCC ivdep
        for (int64_t j = 0; j < n; j++) {
          line[4 * j] = from[j];
          line[4 * j + 1] = from[kRoom + j];
          line[4 * j + 2] = from[2 * kRoom + j];
          line[4 * j + 3] = from[3 * kRoom + j];
        }
        std::memcpy(plane + row * size.width + 4 * tx, line, size_t(columns) * 4);
        all_finite &= finite(line, columns);
      }
  });
  return all_finite;
}

void output_grad(const float* plane, WinogradPlane size, WinogradTiles tiles, float* out,
                 int64_t step) {
  alignas(64) float dealt[16 * kRoom], half[24 * kRoom];
  each_block(tiles, tiles.across, [&](int64_t ty, int64_t rows, int64_t tx, int64_t n) {
    const int64_t lanes = whole_lanes(rows * n);
    for (int64_t r = 0; r < 4 * rows; r++) {
      const int64_t y = 4 * ty + r;
      const float* row = y < size.height ? plane + y * size.width : nullptr;
      deal(row, size.width, 4 * tx, n, dealt + r % 4 * 4 * kRoom + r / 4 * n, kRoom);
    }
    for (int64_t a = 0; a < 16; a++)
      std::fill(dealt + a * kRoom + rows * n, dealt + a * kRoom + lanes, 0.f);
    for (int64_t q = 0; q < 4; q++)
      each_lane(lanes, [&](int64_t l) {
        output_grad_line([&](int r) { return dealt[(r * 4 + q) * kRoom + l]; },
                         [&](int r, float v) { half[(r * 4 + q) * kRoom + l] = v; });
      });
    float* target = out + (ty - tiles.first) * tiles.across + tx;
    for (int64_t r = 0; r < 6; r++)
      each_lane(lanes, [&](int64_t l) {
        output_grad_line([&](int q) { return half[(r * 4 + q) * kRoom + l]; },
                         [&](int q, float v) { target[(r * 6 + q) * step + l] = v; });
      });
  });
}

void filter(const WinogradFilters& f, float* out, int64_t step) {
  constexpr int64_t kFilters = 8 * kPanelRows;  // of a block
  static_assert(kFilters % kLanes == 0);
  alignas(64) float dealt[9 * kFilters], half[18 * kFilters], whole[36 * kFilters];
  const int64_t n = f.groups * f.size;
  for (int64_t at = 0; at < n; at += kFilters) {
    const int64_t count = std::min(kFilters, n - at), lanes = whole_lanes(count);
    for (int64_t l = 0, group = at / f.size, first = at % f.size; l < count; group++, first = 0) {
      const int64_t run = std::min(f.size - first, count - l);
      for (int64_t j = 0; j < run; j++, l++) {
        const float* w = f.data + group * f.pitch + std::min(first + j, f.valid - 1) * 9;
        for (int64_t k = 0; k < 9; k++) dealt[k * kFilters + l] = w[f.turned ? 8 - k : k];
      }
    }
    for (int64_t k = 0; k < 9; k++)
      std::fill(dealt + k * kFilters + count, dealt + k * kFilters + lanes, 0.f);
    for (int64_t q = 0; q < 3; q++)
      each_lane(lanes, [&](int64_t l) {
        filter_line([&](int r) { return dealt[(r * 3 + q) * kFilters + l]; },
                    [&](int r, float v) { half[(r * 3 + q) * kFilters + l] = v; });
      });
    const bool direct = lanes == count;
    float* result = direct ? out + at : whole;
    const int64_t result_step = direct ? step : kFilters;
    for (int64_t r = 0; r < 6; r++)
      each_lane(lanes, [&](int64_t l) {
        filter_line([&](int q) { return half[(r * 3 + q) * kFilters + l]; },
                    [&](int q, float v) { result[(r * 6 + q) * result_step + l] = v; });
      });
    if (direct) continue;
    for (int64_t i = 0; i < 36; i++)
      std::memcpy(out + i * step + at, whole + i * kFilters, size_t(count) * 4);
  }
}

bool filter_grad(const float* in, int64_t step, int64_t n, float* dw) {
  alignas(64) float dealt[36 * kBlock], half[18 * kBlock], whole[9 * kBlock];
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t count = std::min(kBlock, n - at), lanes = whole_lanes(count);
    for (int64_t i = 0; i < 36; i++) {
      std::memcpy(dealt + i * kBlock, in + i * step + at, size_t(count) * 4);
      std::fill(dealt + i * kBlock + count, dealt + i * kBlock + lanes, 0.f);
    }
    for (int64_t q = 0; q < 6; q++)
      each_lane(lanes, [&](int64_t l) {
        filter_grad_line([&](int r) { return dealt[(r * 6 + q) * kBlock + l]; },
                         [&](int r, float v) { half[(r * 6 + q) * kBlock + l] = v; });
      });
    for (int64_t r = 0; r < 3; r++)
      each_lane(lanes, [&](int64_t l) {
        filter_grad_line([&](int q) { return half[(r * 6 + q) * kBlock + l]; },
                         [&](int q, float v) { whole[(r * 3 + q) * kBlock + l] = v; });
      });
    for (int64_t k = 0; k < 9; k++)
      for (int64_t j = 0; j < count; j++) dw[(at + j) * 9 + k] = whole[k * kBlock + j];
  }
  return finite(dw, 9 * n);
}

}  // namespace

extern const WinogradFns winograd_table[1];
const WinogradFns winograd_table[1] = {{input, output, output_grad, filter, filter_grad}};

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
