#include "kernels/number.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/pointwise.h"

namespace flambeau {
namespace {

double largest_of(DType floating) {
  switch (floating) {
    case DType::Float16:
      return 65504;
    case DType::BFloat16:
      return 3.3895313892515355e38;
    case DType::Float64:
      return std::numeric_limits<double>::max();
    case DType::Float32:
      return std::numeric_limits<float>::max();
    default:  // eight bits: numbers beyond the largest convert as any do
      return std::numeric_limits<double>::max();
  }
}

}  // namespace

Range range_of(DType integer) {
  if (integer == DType::UInt64) return {0, std::numeric_limits<int64_t>::max()};  // of a Scalar
  if (is_unsigned(integer)) return {0, int64_t((uint64_t(1) << 8 * itemsize(integer)) - 1)};
  const int64_t high = std::numeric_limits<int64_t>::max() >> (64 - 8 * itemsize(integer));
  return {-high - 1, high};
}
Scalar bound_of(const Scalar& s, DType t) {
  if (!is_integral(t) || !s.is_integral()) return s;
  const Range r = range_of(t);
  return s.is_beyond_int64() ? r.high : std::clamp(s.to_int(), r.low, r.high);
}

void check_fits(const Scalar& value, DType t) {
  if (t == DType::Bool || is_complex(t)) return;
  check(!value.is_complex() || value.to_complex().imag() == 0, "value cannot be converted to type ",
        info(t).name, " without overflow (its imaginary part is not 0)");
  if (is_floating(t)) {
    const double v = std::abs(value.to_double());
    check(!(v > largest_of(t)) || std::isinf(v), "value cannot be converted to type ", info(t).name,
          " without overflow");
    return;
  }
  const int bits = int(itemsize(t)) * 8;
  bool fits;
  if (value.is_integral()) {
    // as PyTorch, unsigned types take the negatives of their numbers
    Range range = range_of(t);
    if (is_unsigned(t)) range.low = -range.high;
    fits = is_in(range, value.to_int()) && !value.is_beyond_int64();
    if (t == DType::UInt64) fits |= value.is_beyond_int64();
  } else {
    const double v = value.to_double(), limit = std::ldexp(1.0, is_unsigned(t) ? bits : bits - 1);
    fits = v < limit && v > (is_unsigned(t) ? -limit : -limit - 1);
    if (bits == 64) fits = v < limit && v >= -limit;
  }
  check(fits, "value cannot be converted to type ", info(t).name, " without overflow");
}

void check_divisor(const Operand& self, const Operand& other) {
  auto whole = [](const Operand& x) {
    return category(x.is_tensor() ? x.tensor().dtype() : x.scalar().dtype()) <= Category::Integral;
  };
  if (!whole(self) || !whole(other)) return;
  if (!other.is_tensor()) {
    check(other.scalar().to_bool(), "ZeroDivisionError: integer division by zero");
    return;
  }
  const Tensor& t = other.tensor();
  if (t.is_meta()) return;
  Tensor flags = contiguous_of(cast_of(t, DType::Bool));
  const uint8_t* p = flags.truth();
  check(std::find(p, p + flags.numel(), 0) == p + flags.numel(),
        "ZeroDivisionError: integer division by zero");
}

}  // namespace flambeau
