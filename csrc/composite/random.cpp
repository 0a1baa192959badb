// Dropout and its kin, as compositions.
#include <cmath>

#include "dispatch/state.h"
#include "ops/all.h"

namespace flambeau::ops {

namespace {

void check_probability(const char* op, double p) {
  check(0 <= p && p <= 1, op, ": dropout probability has to be between 0 and 1, but got ", p);
}

// 1 / (1 - p) as a division of tensors of the dtype gives it.
double keep_scale(double p, DType t) {
  switch (t) {
    case DType::Float64:
      return 1.0 / (1.0 - p);
    case DType::Float16:
      return float(half_t(1.0f / float(1.0 - p)));
    case DType::BFloat16:
      return float(bfloat16_t(1.0f / float(1.0 - p)));
    default:
      return 1.0f / float(1.0 - p);
  }
}

// 1 with probability 1 - p; of whole channels where `feature`.
Tensor keep_mask(const Tensor& self, double p, bool feature) {
  NoGrad off;
  // vmap draws for each entry into a new tensor, not into one for all
  auto drawn = [&](const Tensor& t) {
    return thread_state.transforms ? bernoulli_p(t, 1 - p, nullptr)
                                   : bernoulli__float(t, 1 - p, nullptr);
  };
  if (!feature) return drawn(empty_like(self, std::nullopt, std::nullopt, std::nullopt));
  check(self.dim() >= 2, "Feature dropout requires at least 2 dimensions in the input, got ",
        self.dim());
  Dims sizes(size_t(self.dim()), 1);
  sizes[0] = self.size(0);
  sizes[1] = self.size(1);
  return drawn(empty(sizes, self.dtype(), self.device(), std::nullopt));
}

// SELU's -scale * alpha: what a dropped element of alpha dropout becomes.
constexpr double kAlpha = 1.7580993408473766;

Tensor alpha_dropped(const char* op, const Tensor& self, double p, bool train, bool feature) {
  check_probability(op, p);
  if (!train || p == 0 || self.numel() == 0) return self;
  if (p == 1) return mul(self, 0);
  const double a = 1.0 / std::sqrt((kAlpha * kAlpha * p + 1) * (1 - p));
  Tensor keep = keep_mask(self, p, feature), shift;
  {
    NoGrad off;
    shift = add(mul(sub(keep, 1, 1), kAlpha * a), kAlpha * a * p, 1);
    keep = mul(keep, a);
  }
  return add(mul(self, keep), shift, 1);
}

}  // namespace

Tensor dropout(const Tensor& self, double p, bool train) {
  check_probability("dropout", p);
  if (!train || p == 0 || self.numel() == 0) return self;
  if (p == 1) return mul(self, 0);
  return std::get<0>(_dropout(self, p, keep_scale(p, self.dtype())));
}

Tensor feature_dropout(const Tensor& self, double p, bool train) {
  check_probability("feature_dropout", p);
  if (!train || p == 0 || self.numel() == 0) return self;
  if (p == 1) return mul(self, 0);
  Tensor keep = keep_mask(self, p, true);
  {
    NoGrad off;
    keep = mul(keep, keep_scale(p, self.dtype()));
  }
  return mul(self, keep);
}

Tensor alpha_dropout(const Tensor& self, double p, bool train) {
  return alpha_dropped("alpha_dropout", self, p, train, false);
}
Tensor feature_alpha_dropout(const Tensor& self, double p, bool train) {
  return alpha_dropped("feature_alpha_dropout", self, p, train, true);
}

std::tuple<Tensor, Tensor> native_dropout(const Tensor& self, double p, std::optional<bool> train) {
  if (self.numel() == 0 || !train.value_or(true))
    return {mul(self, 1), ones_like(self, DType::Bool, std::nullopt, std::nullopt)};
  check(0 <= p && p <= 1,
        "native_dropout: bernoulli_ expects p to be in [0, 1], but got p=", 1 - p);
  return _dropout(self, p, p == 1 ? 0 : 1.0 / (1.0 - p));
}

Tensor rrelu(const Tensor& self, const Scalar& lower, const Scalar& upper, bool training,
             Generator* generator) {
  const double low = lower.to_double(), high = upper.to_double();
  check(low <= high, "rrelu: Lower bound should be less than or equal to the upper bound, got ",
        low, " > ", high);
  if (training) return std::get<0>(_rrelu(self, low, high, generator));
  return leaky_relu(self, (low + high) / 2);
}

}  // namespace flambeau::ops
