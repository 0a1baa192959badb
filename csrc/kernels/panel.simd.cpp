// Products of panels by tiles of six rows and two vectors, one where few columns are left.
#include "kernels/panel_table.h"
#include "kernels/tile.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

constexpr int64_t kColumns = kCols<float>;

void product(int64_t m, int64_t n, int64_t k, const float* a, int64_t a_panel, int64_t a_row,
             int64_t a_col, const float* b, int64_t b_row, float* c, int64_t c_row,
             bool accumulate) {
  static_assert(kPanelRows % kRows == 0);
  constexpr int64_t kDepth = 256;  // rows of b in a tile: half of a first-level cache
  for (int64_t p = 0; p < k; p += kDepth)
    for (int64_t j = 0; j < n; j += kColumns) {
      auto rows = [&](auto count, auto vectors, int64_t i) {
        tile<decltype(count)::value, float, decltype(vectors)::value>(
            p + kDepth < k ? kDepth : k - p,
            a + i / kPanelRows * a_panel + i % kPanelRows * a_row + p * a_col, a_row, a_col,
            b + p * b_row + j, b_row, c + i * c_row + j, c_row, p > 0 || accumulate);
      };
      auto strip = [&](auto vectors) {
        int64_t i = 0;
        for (; i + kRows <= m; i += kRows) rows(std::integral_constant<int, kRows>(), vectors, i);
        for (; i + 2 <= m; i += 2) rows(std::integral_constant<int, 2>(), vectors, i);
        if (i < m) rows(std::integral_constant<int, 1>(), vectors, i);
      };
      if (n - j <= kWide<float>)
        strip(std::integral_constant<int, 1>());
      else
        strip(std::integral_constant<int, 2>());
    }
}

// Lanes [0, split) lie `Stride` apart from first on, the others from second on.
template <int64_t Stride>
void gather_runs(const float* x, int64_t channels, int64_t plane, const int64_t* tap, int64_t taps,
                 int64_t first, int64_t second, int64_t split, float* out) {
  for (int64_t c = 0; c < channels; c++, x += plane)
    for (int64_t t = 0; t < taps; t++, out += kColumns) {
      const float *a = x + tap[t] + first, *b = x + tap[t] + second - split * Stride;
      if (split == kColumns) {
        for (int64_t l = 0; l < kColumns; l++) out[l] = a[l * Stride];
      } else {
        for (int64_t l = 0; l < kColumns; l++) out[l] = l < split ? a[l * Stride] : b[l * Stride];
      }
    }
}

void gather(const float* x, int64_t channels, int64_t plane, const int64_t* tap, int64_t taps,
            const int64_t* at, float* out) {
  static_assert(kColumns <= kMaxPanelColumns);
  const int64_t stride = at[1] - at[0];
  int64_t split = 1, end;
  while (split < kColumns && at[split] - at[split - 1] == stride) split++;
  end = split + 1;
  while (end < kColumns && at[end] - at[end - 1] == stride) end++;
  if (end >= kColumns && (stride == 1 || stride == 2)) {
    auto* const runs = stride == 1 ? gather_runs<1> : gather_runs<2>;
    return runs(x, channels, plane, tap, taps, at[0], split < kColumns ? at[split] : 0, split, out);
  }
  for (int64_t c = 0; c < channels; c++, x += plane)
    for (int64_t t = 0; t < taps; t++, out += kColumns) {
      const float* from = x + tap[t];
      for (int64_t l = 0; l < kColumns; l++) out[l] = from[at[l]];
    }
}

}  // namespace

extern const PanelFns panel_table[1];
const PanelFns panel_table[1] = {{kColumns, product, gather}};

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
