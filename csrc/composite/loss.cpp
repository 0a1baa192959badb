// Losses and softmax as the public API has them: argument checks around the kernels.
#include <limits>

#include "autograd/formulas.h"
#include "core/transform.h"
#include "ops/all.h"

namespace flambeau::ops {
using formulas::reduced_loss;

namespace {

int64_t reduction_number(const std::string& reduction) {
  if (reduction == "mean") return 1;
  if (reduction == "sum") return 2;
  check<ValueError>(reduction == "none", reduction,
                    " is not a valid value for reduction; expected 'none', 'mean' or 'sum'");
  return 0;
}

Tensor softmax_input(const Tensor& self, std::optional<DType> dtype) {
  return dtype && *dtype != self.dtype() ? _to_dtype(self, *dtype) : self;
}

int64_t class_dim(const Tensor& self) { return self.dim() == 1 ? 0 : 1; }

// Shaped to multiply the class dimension of `like`.
Tensor class_view(const Tensor& weight, const Tensor& like) {
  Dims shape(size_t(like.dim()), 1);
  shape[size_t(class_dim(like))] = weight.numel();
  return reshape(weight, shape);
}

Tensor probability_loss(const Tensor& self, const Tensor& target, const OptTensor& weight,
                        const std::string& reduction, double smoothing) {
  check(target.is_floating(),
        "Expected floating point type for target with class probabilities, got ", target.dtype());
  const int64_t d = class_dim(self), classes = self.sizes()[size_t(d)];
  if (weight)
    check(weight->dim() == 1 && weight->numel() == classes,
          "cross_entropy: weight tensor should be defined either for all ", classes,
          " classes or no classes but got weight tensor of shape: ", weight->sizes());
  Tensor logs = log_softmax(self, d, std::nullopt);
  Tensor p = smoothing > 0 ? target * (1 - smoothing) + smoothing / double(classes) : target;
  Tensor terms = logs * p;
  if (weight) terms = terms * class_view(*weight, self);
  if (reduction == "none") return -sum_dim(terms, Dims{d}, false, std::nullopt);
  Tensor total = -sum(terms, std::nullopt);
  return reduction_number(reduction) == 1 ? total / (double(self.numel()) / double(classes))
                                          : total;
}

Tensor smoothed_loss(const Tensor& self, const Tensor& target, const OptTensor& weight,
                     int64_t ignore_index, const std::string& reduction, double smoothing) {
  const int64_t d = class_dim(self), classes = self.sizes()[size_t(d)];
  Tensor logs = log_softmax(self, d, std::nullopt);
  Tensor plain = nll_loss(logs, target, weight, ignore_index, reduction);
  Tensor each =
      -sum_dim(weight ? logs * class_view(*weight, self) : logs, Dims{d}, false, std::nullopt);
  Tensor used = ne(target, ignore_index);
  each = formulas::masked(each, reshape(used, each.sizes()));
  Tensor spread_loss = each;
  if (reduction == "sum") spread_loss = sum(each, std::nullopt);
  if (reduction == "mean") {
    Tensor count = weight
                       ? sum(index_select(*weight, 0, reshape(_where(used, target, 0), Dims{-1})) *
                                 reshape(used, Dims{-1}),
                             std::nullopt)
                       : sum(used, std::nullopt);
    spread_loss = sum(each, std::nullopt) / count;
  }
  return plain * (1 - smoothing) + spread_loss * (smoothing / double(classes));
}

}  // namespace

Tensor softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return _softmax(softmax_input(self, dtype), dim);
}
Tensor log_softmax(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return _log_softmax(softmax_input(self, dtype), dim);
}

Tensor smooth_l1_loss_uncast(const Tensor& self, const Tensor& target, const std::string& reduction,
                             double beta) {
  check(beta >= 0, "smooth_l1_loss does not support negative values for beta.");
  return reduced_loss(beta == 0 ? abs(self - target) : _smooth_l1(self, target, beta), reduction);
}

Tensor huber_loss_uncast(const Tensor& self, const Tensor& target, const std::string& reduction,
                         double delta) {
  check(delta > 0, "huber_loss does not support non-positive values for delta.");
  return reduced_loss(_huber(self, target, delta), reduction);
}

Tensor binary_cross_entropy_uncast(const Tensor& self, const Tensor& target,
                                   const OptTensor& weight, const std::string& reduction) {
  const auto check_range = [](const Tensor& t, const char* name) {
    if (!has_values(t) || !t.numel()) return;
    NoGrad off;
    check(item(all(logical_and(ge(t, 0), le(t, 1)))).to_bool(), "all elements of ", name,
          " should be between 0 and 1 (binary_cross_entropy)");
  };
  check_range(self, "input");
  check_range(target, "target");
  Tensor losses = _bce(self, target);
  return reduced_loss(weight ? losses * *weight : losses, reduction);
}

Tensor binary_cross_entropy_with_logits_uncast(const Tensor& self, const Tensor& target,
                                               const OptTensor& weight, const OptTensor& pos_weight,
                                               const std::string& reduction) {
  Tensor losses;
  if (pos_weight) {
    Tensor factor = (*pos_weight - 1) * target + 1;
    losses = (1 - target) * self - factor * log_sigmoid(self);
  } else {
    losses = _bce_logits(self, target);
  }
  return reduced_loss(weight ? losses * *weight : losses, reduction);
}

Tensor kl_div_uncast(const Tensor& self, const Tensor& target, const std::string& reduction,
                     bool log_target) {
  Tensor losses =
      log_target ? exp(target) * (target - self) : xlogy(target, target) - target * self;
  return reduced_loss(losses, reduction);
}

Tensor nll_loss_uncast(const Tensor& self, const Tensor& target, const OptTensor& weight,
                       int64_t ignore_index, const std::string& reduction) {
  return std::get<0>(_nll_loss(self, target, weight, reduction_number(reduction), ignore_index));
}

Tensor cross_entropy_uncast(const Tensor& self, const Tensor& target, const OptTensor& weight,
                            int64_t ignore_index, const std::string& reduction,
                            double label_smoothing) {
  check(label_smoothing >= 0 && label_smoothing <= 1,
        "label_smoothing must be between 0.0 and 1.0. Got: ", label_smoothing);
  check(self.dim() > 0,
        "cross_entropy: input must have a class dimension, got a 0-dimensional tensor");
  if (equal(self.sizes(), target.sizes()) && (target.is_floating() || self.dim() > 1)) {
    check(ignore_index < 0, "ignore_index is not supported for floating point target");
    return probability_loss(self, target, weight, reduction, label_smoothing);
  }
  if (label_smoothing > 0)
    return smoothed_loss(self, target, weight, ignore_index, reduction, label_smoothing);
  if (self.dim() <= 2)
    return std::get<0>(
        _cross_entropy(self, target, weight, reduction_number(reduction), ignore_index));
  return nll_loss(log_softmax(self, 1, std::nullopt), target, weight, ignore_index, reduction);
}

namespace {

Dims lengths_of(const char* name, const Tensor& t) {
  check(category(t.dtype()) == Category::Integral, name, " must be integral, got ", t.dtype());
  check(has_values(t), "ctc_loss(): ", name,
        " decide what is computed; 'meta' tensors have no values");
  Tensor flat = readable(t, "ctc_loss");
  flat = contiguous(_to_dtype(reshape(flat, Dims{-1}), DType::Int64), std::nullopt);
  return Dims(IntSpan(flat.data<int64_t>(), size_t(flat.numel())));
}

}  // namespace

Tensor ctc_loss_uncast(const Tensor& log_probs, const Tensor& targets, const Dims& input_lengths,
                       const Dims& target_lengths, int64_t blank, int64_t reduction,
                       bool zero_infinity) {
  const bool single = log_probs.dim() == 2;
  Tensor loss = std::get<0>(_ctc_loss(single ? unsqueeze(log_probs, 1) : log_probs, targets,
                                      input_lengths, target_lengths, blank, zero_infinity));
  if (zero_infinity)
    loss = formulas::masked(loss, ne(loss, std::numeric_limits<double>::infinity()));
  if (reduction == 2) return sum(loss, std::nullopt);
  if (reduction == 0) return single ? squeeze_dim(loss, 0) : loss;
  // the mean over the batch of losses over lengths
  const int64_t batch = int64_t(target_lengths.size());
  Tensor lengths = flambeau::empty(Dims{batch}, DType::Int64, loss.device());
  if (!lengths.is_meta())
    for (int64_t b = 0; b < batch; b++)
      lengths.data<int64_t>()[b] = std::max<int64_t>(target_lengths[size_t(b)], 1);
  return mean(loss / lengths, std::nullopt);
}

Tensor ctc_loss_Tensor_uncast(const Tensor& log_probs, const Tensor& targets,
                              const Tensor& input_lengths, const Tensor& target_lengths,
                              int64_t blank, int64_t reduction, bool zero_infinity) {
  const Dims inputs = lengths_of("input_lengths", input_lengths),
             labels = lengths_of("target_lengths", target_lengths);
  return ctc_loss(log_probs, targets, inputs, labels, blank, reduction, zero_infinity);
}

}  // namespace flambeau::ops
