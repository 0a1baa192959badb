// Inner loops of optimizer steps, one set per instruction set.
#pragma once
#include <cstdint>

namespace flambeau {

struct AdamScalars {
  double weight_decay, decay_factor, beta1_rest, beta2, beta2_rest, correction, eps, step_size;
  bool decay_gradient, decay_parameter, amsgrad, maximize;
};
struct SgdScalars {
  double weight_decay, momentum, rest, negative_lr;
  bool nesterov, maximize, first;
};

struct OptimLoops {
  void (*adam[2])(void* p, const void* g, void* m, void* v, void* vmax, int64_t n,
                  const AdamScalars& s);  // float, double
  void (*sgd[2])(void* p, const void* g, void* buffer, int64_t n, const SgdScalars& s);
  // Multiplies by a factor; true if any element was not finite. float, double, half, bfloat16
  bool (*unscale[4])(void* g, int64_t n, float factor);
};

}  // namespace flambeau
