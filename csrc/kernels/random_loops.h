// Inner loops of the random operators: 32-bit words of the generator -> n values. Doubles take two
// words an element. Plain types only: the header is also compiled once per instruction set.
#pragma once
#include <cstdint>

namespace flambeau {

// a and b are the distribution's parameters in the order of the operator's arguments.
using RandomLoop = void (*)(void* out, const uint32_t* words, int64_t n, double a, double b);

struct RandomFns {
  RandomLoop uniform_float, uniform_double;
  // Box-Muller over blocks of 16; n is a multiple of 16.
  RandomLoop normal_float, normal_double;
  RandomLoop exponential, geometric, cauchy;  // -> double
  RandomLoop bernoulli;                       // -> bool, two words each
};

// out[i] = x[i] * (mask[i] ? scale : 0), of float or double.
using MaskedScale = void (*)(void* out, const void* x, const bool* mask, int64_t n, double scale);
struct DropoutFns {
  MaskedScale scale_float, scale_double;
};

}  // namespace flambeau
