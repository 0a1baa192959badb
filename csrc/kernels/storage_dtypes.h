// Conversions from and to the dtypes that are only for storage (core/dtype.h).
#pragma once
#include "kernels/pointwise.h"

namespace flambeau {

// Converts contiguous elements; one of the two is a dtype for storage only.
LoopFn storage_converter(DType to, DType from);

}  // namespace flambeau
