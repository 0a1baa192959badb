// Python numbers that meet tensors: which of them a dtype can hold.
#pragma once
#include "core/tensor.h"

namespace flambeau {

struct Range {
  int64_t low, high;
};
Range range_of(DType integer);
inline bool is_in(Range r, int64_t v) { return r.low <= v && v <= r.high; }
// A number that bounds elements of dtype `t`: beyond the dtype's range it is the range's end.
Scalar bound_of(const Scalar& s, DType t);
// Refuses numbers outside the range of a dtype (NaN too for integers), and complex ones for real
// dtypes.
void check_fits(const Scalar& value, DType t);
// Integer division by zero is an error; floats give inf and NaN.
void check_divisor(const Operand& self, const Operand& other);

}  // namespace flambeau
