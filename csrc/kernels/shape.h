// Shape arithmetic shared by view kernels and composites.
#pragma once
#include "core/tensor.h"

namespace flambeau {
Dims infer_size(IntSpan size, int64_t numel, const char* op);
std::optional<Dims> view_strides(IntSpan sizes, IntSpan strides, IntSpan shape);
}  // namespace flambeau
