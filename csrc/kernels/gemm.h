// C = alpha · A · B + beta · C on raw memory, any strides for A and B, rows of C dense.
#pragma once
#include "core/tensor.h"

namespace flambeau {

struct MatrixArg {
  const void* data;
  int64_t row_stride, col_stride;  // in elements
};

// float32, float64, complex64, complex128 through BLAS; integers by a plain loop. Splits over
// threads by size alone unless `serial`. With `bias`, n dense elements, every row of C is set to it
// first and accumulate is meant.
void gemm(DType t, int64_t m, int64_t n, int64_t k, MatrixArg a, MatrixArg b, void* c, int64_t ldc,
          bool accumulate, bool serial = false, const void* bias = nullptr);

}  // namespace flambeau
