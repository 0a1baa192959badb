// Size arithmetic of pooling.
#pragma once
#include <cstdint>

namespace flambeau {
int64_t pooled_size(int64_t n, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                    bool ceil_mode);
}  // namespace flambeau
