// Compositions of the elementary functions: activations and the logarithm family of the loss
// functions. Straight-line wherever their parts are.
#pragma once
#include "simd/vmath_special.h"

namespace flambeau {
namespace FLAMBEAU_TARGET_NS {

#define FLAMBEAU_FLOAT  \
  template <Floating T> \
  FLAMBEAU_INLINE

FLAMBEAU_FLOAT T sinc(T x) {
  T angle = x * T(3.14159265358979323846);
  T r = sin(angle) / angle;
  return x == 0 ? T(1) : r;
}
FLAMBEAU_FLOAT T xlogy(T x, T y) {
  T r = x == 0 ? T(0) : x * log(y);
  return y != y ? y : r;
}
FLAMBEAU_FLOAT T xlog1py(T x, T y) {
  T r = x == 0 ? T(0) : x * log1p(y);
  return y != y ? y : r;
}
// Equal arguments need no difference: infinities of one sign would give NaN.
FLAMBEAU_FLOAT T logaddexp(T a, T b) {
  T r = maximum(a, b) + log1p(exp(-abs(a - b)));
  return isinf(a) & (a == b) ? a : r;
}
FLAMBEAU_FLOAT T logaddexp2(T a, T b) {
  T r = maximum(a, b) + log1p(exp2(-abs(a - b))) * T(1.44269504088896340736);
  return isinf(a) & (a == b) ? a : r;
}

FLAMBEAU_FLOAT T silu(T x) { return x * sigmoid(x); }
FLAMBEAU_FLOAT T logsigmoid(T x) { return minimum(x, T(0)) - log1p(exp(-abs(x))); }
FLAMBEAU_FLOAT T softplus(T x, T beta = T(1), T threshold = T(20)) {
  T z = x * beta;
  return z > threshold ? x : log1p(exp(z)) / beta;
}
// tanh(log(1 + n)) = w / (w + 2) with n = e^x, w = n·(n + 2).
FLAMBEAU_FLOAT T mish(T x) {
  T n = exp(choose(x > T(22), T(22), x));
  T w = n * (n + T(2));
  return x * (w / (w + T(2)));
}
// x·(1 + tanh(u))/2 = x·sigmoid(2u)
FLAMBEAU_FLOAT T gelu_tanh(T x) {
  T u = x * (T(1.59576912160573071176) + T(0.0713548162726002488) * x * x);
  return x * sigmoid(u);
}

#undef FLAMBEAU_FLOAT

}  // namespace FLAMBEAU_TARGET_NS
}  // namespace flambeau
