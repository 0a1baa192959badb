// What reduce_*.simd.cpp offer to the reduction driver, per operation and element type. Plain types
// only: the header is also compiled once per instruction set.
#pragma once
#include <cstdint>

namespace flambeau {

enum class ReduceOp : int {
  Sum,
  NanSum,
  Prod,
  Max,
  Min,
  SumSquares,
  SumAbs,
  CountNonzero,
  Moments
};
constexpr int kNumReduceOps = 9;

// Accumulator of ReduceOp::Moments.
struct Moments {
  double n, mean, m2;
};

// Strides count elements. Accumulators are overwritten, never read.
struct ReduceFns {
  int acc_size;
  // acc[r] = the reduction of n contiguous elements from in + r * stride
  void (*rows)(void* acc, const void* in, int64_t count, int64_t n, int64_t stride);
  // acc[c] = the reduction of `rows` elements in[c], in[c + stride], …
  void (*columns)(void* acc, const void* in, int64_t rows, int64_t cols, int64_t stride);
  void (*combine)(void* acc, const void* other, int64_t n);
  // out[i] = acc[i] / divisor in the operation's natural result type
  void (*finish)(void* out, const void* acc, int64_t n, double divisor);
};

// Largest or smallest element with the position of its first occurrence; a NaN wins.
struct ArgFns {
  void (*rows)(void* values, int64_t* indices, const void* in, int64_t count, int64_t n);
  void (*columns)(void* values, int64_t* indices, const void* in, int64_t n, int64_t cols,
                  int64_t stride);
};

}  // namespace flambeau
