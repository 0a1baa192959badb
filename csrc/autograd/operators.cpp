#include "dispatch/operators.h"

#include "dispatch/promotion.h"
#include "ops/all.h"

namespace flambeau {

Tensor operator+(const Tensor& a, const Operand& b) { return ops::add(a, b, 1); }
Tensor operator-(const Tensor& a, const Operand& b) { return ops::sub(a, b, 1); }
Tensor operator*(const Tensor& a, const Operand& b) { return ops::mul(a, b); }
Tensor operator/(const Tensor& a, const Operand& b) { return ops::div(a, b); }
Tensor operator-(const Tensor& a) { return ops::neg(a); }
Tensor reciprocal_times(const Tensor& b, const Scalar& a) {
  return ops::mul(ops::reciprocal(b), Operand(a));
}

Tensor autocast_lower(const Tensor& t) {
  return t.is_floating() && t.dtype() != DType::Float64
             ? ops::_to_dtype(t, thread_state.autocast_dtype)
             : t;
}
Tensor autocast_float32(const Tensor& t) {
  return t.dtype() == DType::Float16 || t.dtype() == DType::BFloat16
             ? ops::_to_dtype(t, DType::Float32)
             : t;
}
TensorList autocast_widest(const TensorList& list) {
  DType widest = thread_state.autocast_dtype;
  for (auto& t : list)
    if (t.dtype() == DType::Float32) widest = DType::Float32;
  TensorList out;
  for (auto& t : list)
    out.push_back(t.is_floating() && t.dtype() != DType::Float64 ? ops::_to_dtype(t, widest) : t);
  return out;
}

}  // namespace flambeau
