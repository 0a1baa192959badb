// Special functions that are made of pointwise ones.
#include <cmath>

#include "kernels/pointwise.h"
#include "ops/all.h"

namespace flambeau::kernels {

Tensor mvlgamma(const Tensor& self, int64_t p) {
  check(p >= 1, "p has to be greater than or equal to 1");
  check(p <= 1 << 20, "mvlgamma: p = ", p, " is more than the 1,048,576 terms that are added up");
  check<NotImplementedError>(!self.is_complex(), "\"mvlgamma\" not implemented for '",
                             info(self.dtype()).name, "'");
  // One term after the other, in double for floats of less: p values of lgamma are added.
  const DType dtype = self.is_floating() ? self.dtype() : default_dtype();
  const Tensor x = cast_of(self, DType::Float64);
  Tensor total = ops::lgamma(x);
  for (int64_t i = 1; i < p; i++)
    total = ops::add(total, ops::lgamma(ops::sub(x, 0.5 * double(i), 1)), 1);
  total = ops::add(total, 0.25 * double(p) * double(p - 1) * std::log(M_PI), 1);
  return dtype == DType::Float64 ? total : cast_of(total, dtype);
}

std::tuple<Tensor, Tensor> frexp(const Tensor& self) {
  check(self.is_floating(), "torch.frexp() only supports floating-point dtypes");
  return {ops::_frexp_mantissa(self), cast_of(ops::_frexp_exponent(self), DType::Int32)};
}

}  // namespace flambeau::kernels
