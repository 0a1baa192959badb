// Inner loops of optimizer steps, one set per instruction set. A rule is its numbers, the same for
// all elements of a parameter, and a loop over the elements of the parameter, its gradient and its
// state.
#pragma once
#include <cstdint>

namespace flambeau {

// What every rule does to the gradient before it starts.
struct GradientNumbers {
  double weight_decay = 0;  // added as weight_decay · parameter
  bool maximize = false;
};
struct AdamNumbers : GradientNumbers {
  double shrink, mean_rest, beta2, square_rest, root_correction, eps, step_size;
  bool shrinks;
};
struct SgdNumbers : GradientNumbers {
  double momentum, rest, lr;
  bool nesterov, first;
};
struct AdamaxNumbers : GradientNumbers {
  double mean_rest, beta2, eps, step_size;
};
struct NadamNumbers : GradientNumbers {
  double shrink, mean_rest, beta2, square_rest, correction, eps, gradient_size, mean_size;
  bool shrinks;
};
struct RadamNumbers : GradientNumbers {
  double shrink, mean_rest, beta2, square_rest, mean_correction, root_correction, eps, lr,
      rectification;
  bool shrinks, rectified;
};
struct AdadeltaNumbers : GradientNumbers {
  double rho, rest, eps, lr;
};
struct AdagradNumbers : GradientNumbers {
  double eps, step_size;
};
struct AsgdNumbers : GradientNumbers {
  double shrink, eta, mu;
};
struct RmspropNumbers : GradientNumbers {
  double alpha, rest, eps, momentum, lr;
};
struct RpropNumbers : GradientNumbers {
  double eta_minus, eta_plus, smallest, largest;
};
// Not of an optimizer: the gradient times a factor; `bad` becomes 1 where it was not finite.
struct UnscaleNumbers {
  float factor;
  int* bad;
};

// How elements lie in memory. 16-bit ones are computed with in float: rounded after every operator
// that the step is made of, as a step that calls them one by one does, or, in the Wide kinds, only
// when they are stored.
enum class OptimKind { Float, Double, Half, BFloat16, WideHalf, WideBFloat16 };
constexpr int kOptimKinds = 6;

// at: parameter, gradient, then the state; null where the rule goes without.
using OptimLoop = void (*)(void* const* at, int64_t n, const void* numbers);
using OptimRule = OptimLoop[kOptimKinds];

struct OptimLoops {
  OptimRule adam, sgd, adamax, nadam, radam, adadelta, adagrad, asgd, rmsprop, rprop, unscale;
};

}  // namespace flambeau
