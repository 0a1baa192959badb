// The tables of softmax and normalisation loops for this machine.
#pragma once
#include "core/dtype.h"
#include "kernels/rows_table.h"

namespace flambeau {

// `compute`: Float32 or Float64.
const SoftmaxFns& softmax_fns(DType compute);
const NormFns& norm_fns(DType compute);

}  // namespace flambeau
