// Products of small matrices, of which libraries spend much of the time on preparation.
#include "kernels/gemm_small_table.h"
#include "kernels/tile.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

using T = float;
constexpr int kStrip = kCols<T>;

bool in_place(int64_t n, int64_t k, const TileMatrix& b) {
  return b.col == 1 && n % kStrip == 0 && n * k * int64_t(sizeof(T)) <= kSmallGemmDirect;
}

int64_t scratch(int64_t n, int64_t k) { return padded<T>(n) * k * int64_t(sizeof(T)); }

// b in strips of columns, the last filled up with zeros.
void pack_strips(T* to, const TileMatrix& b, int64_t n, int64_t k) {
  if (b.col != 1) {
    pack_transposed<T>(to, {b.data, b.col, b.row}, 0, n, k);
    return;
  }
  for (int64_t j = 0; j < n; j += kStrip)
    for (int64_t i = 0; i < k; i++, to += kStrip) {
      const T* x = row_of<T>(b, i) + j;
      const int64_t width = n - j < kStrip ? n - j : kStrip;
      if (width == kStrip) {
        store(to, load<VF>(x));
        store(to + kWide<T>, load<VF>(x + kWide<T>));
      } else {
        for (int64_t c = 0; c < kStrip; c++) to[c] = c < width ? x[c] : T(0);
      }
    }
}

void multiply(int64_t m, int64_t n, int64_t k, const TileMatrix& a, const TileMatrix& b, void* out,
              void* memory) {
  T *c = static_cast<T*>(out), *packed = static_cast<T*>(memory);
  Panels<T> panels{reinterpret_cast<const T*>(b.data), kStrip, b.row};
  if (!in_place(n, k, b)) {
    pack_strips(packed, b, n, k);
    panels = {packed, k * kStrip, kStrip};
  }
  T rest[kRows * kStrip];
  for (int64_t i = 0; i < m;) {
    // 4 + 4 and 4 + 3 rows keep the processor busy, 6 + 2 and 6 + 1 do not
    const int64_t left = m - i;
    const int rows = left == 7 || left == 8 ? 4 : int(left < kRows ? left : kRows);
    const T* from = row_of<T>(a, i);
    for (int64_t j = 0; j < n; j += kStrip) {
      const Panels<T> strip{panels.data + j / kStrip * panels.strip, 0, panels.row};
      T* to = c + i * n + j;
      if (n - j < kStrip) {
        product<T>(rows, kStrip, k, from, a.row, a.col, strip, rest, kStrip, false);
        for (int r = 0; r < rows; r++)
          for (int64_t l = 0; l < n - j; l++) to[r * n + l] = rest[r * kStrip + l];
        continue;
      }
      for (int r = 0; r < rows; r++) __builtin_prefetch(to + r * n + 2 * kStrip, 1);
      product<T>(rows, kStrip, k, from, a.row, a.col, strip, to, n, false);
    }
    i += rows;
  }
}

}  // namespace

extern const SmallGemmFns small_gemm_table[1];
const SmallGemmFns small_gemm_table[1] = {{scratch, multiply}};

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
