// Inner loop of products of sparse rows and dense matrices. Plain types only: the header is also
// compiled once per instruction set.
#pragma once
#include <cstdint>

namespace flambeau {

// out[j] = the sum over i < count of values[i] * dense[columns[i] * row + j], j < n, in order.
struct SparseRowFns {
  void (*f32)(const float* values, const int64_t* columns, int64_t count, const float* dense,
              int64_t row, float* out, int64_t n);
  void (*f64)(const double* values, const int64_t* columns, int64_t count, const double* dense,
              int64_t row, double* out, int64_t n);
};

}  // namespace flambeau
