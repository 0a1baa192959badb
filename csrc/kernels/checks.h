// What kernels ask of arguments that derivative formulas pass rightly and a direct call may not:
// nothing is read through a pointer before these hold.
#pragma once
#include <limits>

#include "core/tensor.h"

namespace flambeau {

// Sizes and steps of windows stay below this, so that no sum or product of two overflows.
constexpr int64_t kLargestStep = std::numeric_limits<int32_t>::max();

inline void check_rank(const char* op, const char* name, const Tensor& t, int64_t low,
                       int64_t high) {
  check(t.dim() >= low && t.dim() <= high, op, ": expected ", name, " with ", low, " to ", high,
        " dimensions, but it has shape ", t.sizes());
}
inline void check_shape(const char* op, const char* name, const Tensor& t, IntSpan sizes) {
  check(equal(t.sizes(), sizes), op, ": expected ", name, " of shape ", Dims(sizes),
        ", but got shape ", t.sizes());
}
inline void check_count(const char* op, const char* name, const Tensor& t, int64_t count) {
  check(t.numel() == count, op, ": ", name, " should contain ", count, " elements not ", t.numel(),
        " (shape ", t.sizes(), ")");
}
inline void check_count(const char* op, const char* name, const OptTensor& t, int64_t count) {
  if (t) check_count(op, name, *t, count);
}
inline void check_real_floating(const char* op, const char* name, const Tensor& t) {
  check<NotImplementedError>(t.is_floating(), "\"", op, "\" not implemented for '",
                             info(t.dtype()).name, "' (argument '", name, "')");
}
// The sizes of a tensor that is to be made: none negative, and their product fits.
inline void check_sizes(const char* op, const char* name, IntSpan sizes) {
  int64_t n = 16;  // bytes of the widest element
  bool fits = true;
  for (int64_t s : sizes) fits &= s >= 0 && !__builtin_mul_overflow(n, std::max<int64_t>(s, 1), &n);
  check(fits, op, ": expected ", name, " to be sizes of a tensor, but got ", Dims(sizes));
}
// A list with one entry per dimension, each in [low, kLargestStep].
inline void check_steps(const char* op, const char* name, IntSpan v, size_t rank, int64_t low) {
  bool fits = v.size() == rank;
  for (int64_t s : v) fits &= s >= low && s <= kLargestStep;
  check(fits, op, ": expected ", name, " to have ", rank, " entries from ", low, " to ",
        kLargestStep, ", but got ", Dims(v));
}

}  // namespace flambeau
