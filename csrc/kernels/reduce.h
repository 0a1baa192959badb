// The driver of all reductions: walks any strided tensor, cuts the work into blocks whose bounds
// depend on the shape alone, and combines the blocks' accumulators pairwise, so that a result never
// depends on the number of threads.
#pragma once
#include <memory>

#include "core/tensor.h"
#include "kernels/reduce_table.h"

namespace flambeau {

const ReduceFns& reduce_fns(ReduceOp op, DType dtype);
const ArgFns& arg_fns(bool largest, DType dtype);

// Accumulators of a finished reduction, in the order of the elements of `layout`'s memory.
struct Reduced {
  std::unique_ptr<char[]> storage;
  void* acc = nullptr;
  int64_t count = 0;
  Dims sizes, strides;  // of the result without the reduced dimensions (or with 1s)
};

// Which dimensions `dims` names: absent or empty means all.
Dims reduced_dims(const std::optional<Dims>& dims, int64_t ndim);
Dims reduced_shape(IntSpan sizes, IntSpan dims, bool keepdim);
Reduced run_reduction(const ReduceFns& fns, const Tensor& in, IntSpan dims, bool keepdim);
// The whole of a common reduction: runs, divides, writes the natural result type `out_dtype`.
Tensor reduce_tensor(ReduceOp op, const Tensor& in, IntSpan dims, bool keepdim, DType out_dtype,
                     double divisor = 1);
// dtype of what `op` writes for elements of `t`.
DType reduce_result(ReduceOp op, DType t);

// A tensor seen as outer x n x inner around one dimension.
struct Around {
  int64_t outer = 1, n = 1, inner = 1;
  Around(IntSpan sizes, int64_t dim) {
    for (size_t d = 0; d < sizes.size(); d++)
      (int64_t(d) < dim ? outer : int64_t(d) == dim ? n : inner) *= sizes[d];
  }
};

// The tensor with dimension `dim` moved last, contiguous; 0-d becomes one row of one element.
Tensor rows_of(const Tensor& t, int64_t dim);
// Undoes rows_of for a result with `n` columns: a view, or contiguous when dim is the last.
Tensor from_rows(const Tensor& rows, IntSpan sizes, int64_t dim);

}  // namespace flambeau
