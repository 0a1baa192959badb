// Inner loops of products of sparse rows and dense matrices. Plain types only: the header is also
// compiled once per instruction set.
#pragma once
#include <cstdint>

namespace flambeau {

template <class T>
struct SparseRowFns {
  // out[j] = the sum over i < count of values[i] * dense[columns[i] * row + j], j < n, in order.
  void (*sum_rows)(const T* values, const int64_t* columns, int64_t count, const T* dense,
                   int64_t row, T* out, int64_t n);
  // out[r] = the sum over i from starts[r] to starts[r + 1] of values[i] * x[columns[i] * step], in
  // order, r < rows.
  void (*dots)(const T* values, const int64_t* columns, const int64_t* starts, int64_t rows,
               const T* x, int64_t step, T* out);
};
struct SparseFns {
  SparseRowFns<float> f32;
  SparseRowFns<double> f64;
  // Whether all numbers are from 0 to limit - 1.
  bool (*all_below)(const int64_t* numbers, int64_t count, int64_t limit);
};

}  // namespace flambeau
