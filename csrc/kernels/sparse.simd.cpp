// Products of sparse rows and dense matrices. For a matrix of several columns a strip of them stays
// in registers over all elements of the sparse row.
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

// Sparse rows are short: the sums of several overlap in the processor, and calls would cost more.
template <class T>
void dots(const T* values, const int64_t* columns, const int64_t* starts, int64_t rows, const T* x,
          int64_t step, T* out) {
  for (int64_t r = 0; r < rows; r++) {
    T sum = 0;
    for (int64_t i = starts[r]; i < starts[r + 1]; i++) sum += values[i] * x[columns[i] * step];
    out[r] = sum;
  }
}

bool all_below(const int64_t* numbers, int64_t count, int64_t limit) {
  uint64_t signs = 0;
  for (int64_t i = 0; i < count; i++)
    signs |= uint64_t(numbers[i]) | (uint64_t(limit - 1) - uint64_t(numbers[i]));
  return int64_t(signs) >= 0;
}

}  // namespace

extern const SparseFns sparse_table[1];
const SparseFns sparse_table[1] = {
    {{sum_rows<float>, dots<float>}, {sum_rows<double>, dots<double>}, all_below}};

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
