// Public normalisation operators: argument checks, running statistics, and derivatives as
// compositions where a graph of the backward pass is wanted.
#include <limits>

#include "autograd/formulas.h"
#include "kernels/pointwise.h"
#include "ops/all.h"

namespace flambeau {

namespace formulas {
using namespace ops;

namespace {

Dims trailing_dims(const Dims& shape) {
  Dims dims;
  for (int64_t d = -int64_t(shape.size()); d < 0; d++) dims.push_back(d);
  return dims;
}

// d(loss)/dx of y = (x - mean) * rstd over `dims`, from g = d(loss)/dy; differentiable.
Tensor centred_grad(const Tensor& g, const Tensor& x, const Dims& dims, double eps, bool centred) {
  Tensor d = centred ? x - mean_dim(x, dims, true, std::nullopt) : x;
  Tensor rstd = rsqrt(mean_dim(d * d, dims, true, std::nullopt) + eps);
  Tensor y = d * rstd;
  Tensor inner = g - y * mean_dim(g * y, dims, true, std::nullopt);
  if (centred) inner = inner - mean_dim(g, dims, true, std::nullopt);
  return inner * rstd;
}

Tensor standardized(const Tensor& x, const Dims& dims, double eps, bool centred) {
  Tensor d = centred ? x - mean_dim(x, dims, true, std::nullopt) : x;
  return d * rsqrt(mean_dim(d * d, dims, true, std::nullopt) + eps);
}

Dims all_but_channel(int64_t ndim) {
  Dims dims{0};
  for (int64_t d = 2; d < ndim; d++) dims.push_back(d);
  return dims;
}

Tensor grouped(const Tensor& t, int64_t groups) {
  const int64_t lines = t.sizes()[0] * groups;
  return reshape(t, Dims{t.sizes()[0], groups, lines ? t.numel() / lines : 0});
}

}  // namespace

Tensor channel_view(const Tensor& t, int64_t ndim) {
  Dims shape(size_t(ndim), 1);
  shape[1] = t.numel();
  return reshape(t, shape);
}

Tensor channel_sum(const Tensor& grad) {
  return sum_dim(grad, all_but_channel(grad.dim()), false, std::nullopt);
}

Tensor leading_sum(const Tensor& grad, const Dims& shape) { return sum_to_size(grad, shape); }

Tensor layer_norm_grad(const TensorList& grads, const Tensor& input, const Dims& shape,
                       const OptTensor& weight, const TensorList& results, double eps) {
  if (!grad_enabled())
    return _layer_norm_backward(grads[0], input, shape, results[1], results[2], weight);
  return centred_grad(weight ? grads[0] * *weight : grads[0], input, trailing_dims(shape), eps,
                      true);
}
Tensor layer_norm_weight_grad(const TensorList& grads, const Tensor& input, const Dims& shape,
                              const TensorList& results, double eps) {
  if (!grad_enabled()) return _layer_norm_weight(grads[0], input, shape, results[1], results[2]);
  return sum_to_size(grads[0] * standardized(input, trailing_dims(shape), eps, true), shape);
}
Tensor rms_norm_grad(const Tensor& grad, const Tensor& input, const Dims& shape,
                     const OptTensor& weight, const Tensor& rstd, double eps) {
  if (!grad_enabled()) return _layer_norm_backward(grad, input, shape, std::nullopt, rstd, weight);
  return centred_grad(weight ? grad * *weight : grad, input, trailing_dims(shape), eps, false);
}
Tensor rms_norm_weight_grad(const Tensor& grad, const Tensor& input, const Dims& shape,
                            const Tensor& rstd, double eps) {
  if (!grad_enabled()) return _layer_norm_weight(grad, input, shape, std::nullopt, rstd);
  return sum_to_size(grad * standardized(input, trailing_dims(shape), eps, false), shape);
}

Tensor batch_norm_grad(const TensorList& grads, const Tensor& input, const OptTensor& weight,
                       const TensorList& results, double eps) {
  if (!grad_enabled())
    return _batch_norm_backward(grads[0], input, weight, results[1], results[2], eps);
  Tensor g = weight ? grads[0] * channel_view(*weight, input.dim()) : grads[0];
  return centred_grad(g, input, all_but_channel(input.dim()), eps, true);
}
Tensor batch_norm_weight_grad(const TensorList& grads, const Tensor& input,
                              const TensorList& results, double eps) {
  if (!grad_enabled())
    return _channel_products(grads[0], input, results[1]) * rsqrt(results[2] + eps);
  return channel_sum(grads[0] * standardized(input, all_but_channel(input.dim()), eps, true));
}

Tensor group_norm_grad(const TensorList& grads, const Tensor& input, int64_t groups,
                       const OptTensor& weight, const TensorList& results, double eps) {
  Tensor g = grouped(weight ? grads[0] * channel_view(*weight, input.dim()) : grads[0], groups),
         x = grouped(input, groups);
  if (grad_enabled()) return reshape(centred_grad(g, x, Dims{-1}, eps, true), input.sizes());
  Tensor mean = unsqueeze(results[1], -1), rstd = unsqueeze(results[2], -1);
  return reshape(_layer_norm_backward(g, x, Dims{x.sizes()[2]}, mean, rstd, std::nullopt),
                 input.sizes());
}
Tensor group_norm_weight_grad(const TensorList& grads, const Tensor& input, int64_t groups,
                              const TensorList& results, double eps) {
  if (!grad_enabled()) return _group_norm_weight(grads[0], input, results[1], results[2]);
  return channel_sum(
      grads[0] * reshape(standardized(grouped(input, groups), Dims{-1}, eps, true), input.sizes()));
}

}  // namespace formulas

namespace ops {
namespace {

void check_channels(const char* op, const char* name, const OptTensor& t, int64_t channels) {
  if (t)
    check(t->numel() == channels, op, ": ", name, " should contain ", channels, " elements not ",
          t->numel());
}

// running = (1 - momentum) * running + momentum * value
void update_running(const OptTensor& running, const Tensor& value, double momentum) {
  if (!running) return;
  NoGrad off;
  copy_(*running, *running * (1 - momentum) + value * momentum, false);
}

OptTensor repeated(const OptTensor& t, int64_t times) {
  return t ? OptTensor(repeat(*t, Dims{times})) : t;
}

}  // namespace

Tensor batch_norm(const Tensor& input, const OptTensor& weight, const OptTensor& bias,
                  const OptTensor& running_mean, const OptTensor& running_var, bool training,
                  double momentum, double eps, bool) {
  if (input.numel() == 0 && input.dim() < 2) return clone(input, std::nullopt);
  check(
      input.dim() >= 2,
      "batch_norm: expected at least 2 dimensions (batch, channels, ...), but the input has shape ",
      input.sizes());
  const int64_t channels = input.sizes()[1];
  check_channels("batch_norm", "running_mean", running_mean, channels);
  check_channels("batch_norm", "running_var", running_var, channels);
  check_channels("batch_norm", "weight", weight, channels);
  check_channels("batch_norm", "bias", bias, channels);
  if (training) {
    auto [out, mean, var] = _batch_norm(input, weight, bias, eps);
    const double n = channels ? double(input.numel() / channels) : 0;
    if (input.numel() == 0) return out;  // nothing learnt of the statistics
    update_running(running_mean, mean, momentum);
    update_running(running_var, var * (n / (n - 1)), momentum);
    return out;
  }
  check(running_mean && running_var,
        "batch_norm: Expected running_mean and running_var to be defined when training=False");
  Tensor scale = rsqrt(*running_var + eps);
  if (weight) scale = scale * *weight;
  Tensor shift = *running_mean * scale;
  return _channel_affine(input, scale, bias ? *bias - shift : -shift);
}

Tensor instance_norm(const Tensor& input, const OptTensor& weight, const OptTensor& bias,
                     const OptTensor& running_mean, const OptTensor& running_var,
                     bool use_input_stats, double momentum, double eps, bool) {
  check(use_input_stats || (running_mean && running_var),
        "Expected running_mean and running_var to be defined when use_input_stats is false");
  check(input.dim() >= 2,
        "instance_norm: expected at least 2 dimensions (batch, channels, ...), but the input has "
        "shape ",
        input.sizes());
  const int64_t samples = input.sizes()[0], channels = input.sizes()[1];
  Dims shape = input.sizes();
  shape[0] = 1;
  shape[1] = samples * channels;
  OptTensor mean = repeated(running_mean, samples), var = repeated(running_var, samples);
  Tensor out =
      batch_norm(reshape(contiguous(input, std::nullopt), shape), repeated(weight, samples),
                 repeated(bias, samples), mean, var, use_input_stats, momentum, eps, false);
  auto average = [&](const OptTensor& running, const OptTensor& each) {
    if (!running || !use_input_stats) return;
    NoGrad off;
    copy_(*running, mean_dim(reshape(*each, Dims{samples, channels}), Dims{0}, false, std::nullopt),
          false);
  };
  average(running_mean, mean);
  average(running_var, var);
  return reshape(out, input.sizes());
}

Tensor layer_norm(const Tensor& input, const Dims& normalized_shape, const OptTensor& weight,
                  const OptTensor& bias, double eps, bool) {
  return std::get<0>(native_layer_norm(input, normalized_shape, weight, bias, eps));
}

Tensor rms_norm(const Tensor& input, const Dims& normalized_shape, const OptTensor& weight,
                std::optional<double> eps) {
  if (weight)
    check(equal(weight->sizes(), normalized_shape),
          "rms_norm: Expected weight to be of same shape as normalized_shape, but got weight of "
          "shape ",
          weight->sizes(), " and normalized_shape = ", normalized_shape);
  double small = std::numeric_limits<float>::epsilon();
  if (input.dtype() == DType::Float64) small = std::numeric_limits<double>::epsilon();
  if (input.is_complex()) {
    Dims dims;
    for (int64_t d = -int64_t(normalized_shape.size()); d < 0; d++) dims.push_back(d);
    Tensor out =
        input * rsqrt(mean_dim(input * input, dims, true, std::nullopt) + eps.value_or(small));
    return weight ? out * *weight : out;
  }
  return std::get<0>(_rms_norm(input, normalized_shape, weight, eps.value_or(small)));
}

Tensor group_norm(const Tensor& input, int64_t num_groups, const OptTensor& weight,
                  const OptTensor& bias, double eps, bool) {
  check(input.dim() >= 2, "Expected at least 2 dimensions for input tensor but received ",
        input.dim());
  check(num_groups > 0, "Expected num groups to be greater than 0, got ", num_groups);
  const int64_t channels = input.sizes()[1];
  check(
      channels % num_groups == 0,
      "Expected number of channels in input to be divisible by num_groups, but got input of shape ",
      input.sizes(), " and num_groups=", num_groups);
  check(!weight || (weight->dim() == 1 && weight->numel() == channels),
        "Expected weight to be a vector of size equal to the number of channels in input, but got "
        "weight of shape ",
        weight ? weight->sizes() : Dims{}, " and input of shape ", input.sizes());
  check(!bias || (bias->dim() == 1 && bias->numel() == channels),
        "Expected bias to be a vector of size equal to the number of channels in input, but got "
        "bias of shape ",
        bias ? bias->sizes() : Dims{}, " and input of shape ", input.sizes());
  return std::get<0>(_group_norm(input, num_groups, weight, bias, eps));
}

std::tuple<Tensor, Tensor, Tensor> native_batch_norm(const Tensor& input, const OptTensor& weight,
                                                     const OptTensor& bias,
                                                     const OptTensor& running_mean,
                                                     const OptTensor& running_var, bool training,
                                                     double momentum, double eps) {
  Tensor out =
      batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, false);
  NoGrad off;
  if (!training) {
    Tensor none = flambeau::empty(Dims{0}, input.dtype(), input.device());
    return {out, none, clone(none, std::nullopt)};
  }
  auto [var, mean] = _var_mean(input, formulas::all_but_channel(input.dim()), 0, false, false);
  return {out, mean, rsqrt(var + eps)};
}

std::tuple<Tensor, Tensor, Tensor> native_group_norm(const Tensor& input, const OptTensor& weight,
                                                     const OptTensor& bias, int64_t N, int64_t C,
                                                     int64_t HxW, int64_t group, double eps) {
  int64_t expected = 0;
  const bool fits =
      !__builtin_mul_overflow(N, C, &expected) && !__builtin_mul_overflow(expected, HxW, &expected);
  check(fits && input.numel() == expected, "native_group_norm(): an input of shape ", input.sizes(),
        " has not N * C * HxW = ", N, " * ", C, " * ", HxW, " elements");
  Tensor out = group_norm(input, group, weight, bias, eps, false);
  auto [var, mean] =
      _var_mean(reshape(input, Dims{N, group, C / group * HxW}), Dims{2}, 0, false, false);
  return {out, mean, rsqrt(var + eps)};
}

}  // namespace ops
}  // namespace flambeau
