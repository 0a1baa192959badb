// Products of matrices whose operands lie ready for it, without a copy of either: for few columns,
// where packing costs as much as the product. Plain types only: the header is also compiled once
// per instruction set.
#pragma once
#include <cstdint>

namespace flambeau {

constexpr int64_t kPanelRows = 12;
constexpr int64_t kMaxPanelColumns = 32;

struct PanelFns {
  int64_t columns;  // that a product works on at once, at most kMaxPanelColumns
  // c = a · b, m × k times k × n. Row r of a, in panels of kPanelRows, and its element p:
  // a[r / kPanelRows * a_panel + r % kPanelRows * a_row + p * a_col]. b and c in rows; n is rounded
  // up to whole columns, which may be read and overwritten. Sums are in the order of k, with fused
  // operations, and go on from what c holds where `accumulate`.
  void (*product)(int64_t m, int64_t n, int64_t k, const float* a, int64_t a_panel, int64_t a_row,
                  int64_t a_col, const float* b, int64_t b_row, float* c, int64_t c_row,
                  bool accumulate);
  // out[(c * taps + t) * columns + l] = x[c * plane + tap[t] + at[l]]
  void (*gather)(const float* x, int64_t channels, int64_t plane, const int64_t* tap, int64_t taps,
                 const int64_t* at, float* out);
};

// Of this processor; null where it has no fused operations.
const PanelFns* panel_functions();

}  // namespace flambeau
