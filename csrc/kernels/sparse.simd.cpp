// Sums of scaled rows of a dense matrix. A strip of columns stays in registers over all elements of
// the sparse row.
#include "kernels/sparse_table.h"
#include "simd/vector.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {
namespace {

template <int Vectors, class T>
FLAMBEAU_INLINE void strip(const T* values, const int64_t* columns, int64_t count, const T* dense,
                           int64_t row, T* out) {
  using V = typename VectorOf<T>::type;
  constexpr int kWide = kBytes / int(sizeof(T));
  V acc[Vectors] = {};
  for (int64_t i = 0; i < count; i++) {
    const T* x = dense + columns[i] * row;
    const V s = values[i] - V{};
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; v++) acc[v] += s * load<V>(x + v * kWide);
  }
#pragma GCC unroll 8
  for (int v = 0; v < Vectors; v++) store(out + v * kWide, acc[v]);
}

template <class T>
void sum_rows(const T* values, const int64_t* columns, int64_t count, const T* dense, int64_t row,
              T* out, int64_t n) {
  constexpr int64_t kWide = kBytes / int64_t(sizeof(T));
  int64_t j = 0;
  for (; j + 8 * kWide <= n; j += 8 * kWide)
    strip<8>(values, columns, count, dense + j, row, out + j);
  if (j + 4 * kWide <= n) {
    strip<4>(values, columns, count, dense + j, row, out + j);
    j += 4 * kWide;
  }
  if (j + 2 * kWide <= n) {
    strip<2>(values, columns, count, dense + j, row, out + j);
    j += 2 * kWide;
  }
  if (j + kWide <= n) {
    strip<1>(values, columns, count, dense + j, row, out + j);
    j += kWide;
  }
  for (; j < n; j++) {
    T sum = 0;
    for (int64_t i = 0; i < count; i++) sum += values[i] * dense[columns[i] * row + j];
    out[j] = sum;
  }
}

}  // namespace

extern const SparseRowFns sparse_row_table[1];
const SparseRowFns sparse_row_table[1] = {{sum_rows<float>, sum_rows<double>}};

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
