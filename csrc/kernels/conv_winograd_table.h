// Transforms of Winograd's F(4×4, 3×3), in float. Plain types only: the header is also compiled
// once per instruction set.
#pragma once
#include <cstdint>

namespace flambeau {

// Tiles of 4×4 outputs, `across` in a row of tiles; a call works on the tile rows [first, last) of
// one plane. Transformed tiles are 36 numbers, number i of tile t at i * step + t, tiles counted
// from the first one of the call. Up to kWinogradSlack numbers behind the last tile may be
// overwritten.
constexpr int64_t kWinogradSlack = 32;

struct WinogradTiles {
  int64_t first, last, across;
};
struct WinogradPlane {
  int64_t height, width;
};

// Groups of `size` filters of 9 numbers, of which the last ones repeat number valid - 1; groups lie
// `pitch` apart. Turned by 180° or not.
struct WinogradFilters {
  const float* data;
  int64_t groups, pitch, size, valid;
  bool turned;
};

struct WinogradFns {
  // Bᵀ d B for the 6×6 inputs of each tile; the plane is surrounded by zeros
  void (*input)(const float* plane, WinogradPlane size, int64_t pad_y, int64_t pad_x,
                WinogradTiles tiles, float* out, int64_t step);
  // plane = Aᵀ m A + bias; whether all of it is finite
  bool (*output)(const float* in, int64_t step, WinogradTiles tiles, float bias, float* plane,
                 WinogradPlane size);
  // A d Aᵀ for the 4×4 gradients of each tile's outputs
  void (*output_grad)(const float* plane, WinogradPlane size, WinogradTiles tiles, float* out,
                      int64_t step);
  // G w Gᵀ: number i of filter j at i * step + j
  void (*filter)(const WinogradFilters& filters, float* out, int64_t step);
  // Gᵀ u G; whether all of it is finite
  bool (*filter_grad)(const float* in, int64_t step, int64_t n, float* dw);
};

}  // namespace flambeau
