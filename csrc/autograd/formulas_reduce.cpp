#include "autograd/formulas_reduce.h"

#include <cmath>
#include <limits>

#include "autograd/formulas.h"
#include "core/transform.h"
#include "dispatch/state.h"
#include "kernels/reduce.h"
#include "ops/all.h"

namespace flambeau::formulas {
using namespace ops;

namespace {
std::optional<Dims> as_dims(std::optional<int64_t> dim) {
  return dim ? std::optional<Dims>(Dims{*dim}) : std::nullopt;
}
}  // namespace

// ---- shapes
// -------------------------------------------------------------------------------------------------

Tensor unsqueeze_multiple(const Tensor& t, const std::optional<Dims>& dims, int64_t ndim) {
  const Dims gone = reduced_dims(dims, ndim);
  Dims shape;
  size_t next = 0;
  for (int64_t d = 0; d < ndim; d++) {
    const bool reduced = std::find(gone.begin(), gone.end(), d) != gone.end();
    shape.push_back(reduced ? 1 : t.sizes()[next++]);
  }
  return reshape(t, shape);
}

namespace {
// A reduction's result with size-1 dimensions where it was reduced.
Tensor with_kept(const Tensor& t, const std::optional<Dims>& dims, int64_t ndim, bool keepdim) {
  return keepdim || ndim == 0 ? t : unsqueeze_multiple(t, dims, ndim);
}
}  // namespace

Tensor spread(const Tensor& grad, const Dims& sizes, const std::optional<Dims>& dims,
              bool keepdim) {
  return expand(with_kept(grad, dims, int64_t(sizes.size()), keepdim), sizes, false);
}

int64_t reduced_count(const Dims& sizes, const std::optional<Dims>& dims) {
  int64_t n = 1;
  for (int64_t d : reduced_dims(dims, int64_t(sizes.size()))) n *= sizes[size_t(d)];
  return n;
}

Tensor nan_mean(const Tensor& self, const std::optional<Dims>& dim, bool keepdim,
                std::optional<DType> dtype) {
  check(is_differentiable(self.dtype()),
        "nanmean(): expected input to have floating point or complex dtype but got ", self.dtype());
  Tensor count = sum_dim(logical_not(isnan(self)), dim, keepdim, std::nullopt);
  return nansum(self, dim, keepdim, dtype) / count;
}

// ---- extremes
// -----------------------------------------------------------------------------------------------

Tensor where_equal(const Tensor& grad, const Tensor& self, const Tensor& result,
                   const std::optional<Dims>& dims, bool keepdim) {
  Tensor top = with_kept(result, dims, self.dim(), keepdim),
         g = with_kept(grad, dims, self.dim(), keepdim);
  Tensor hit = logical_or(eq(self, top), logical_and(isnan(self), isnan(top)));
  Tensor share =
      g / sum_dim(hit, dims && !dims->empty() ? dims : std::nullopt, self.dim() > 0, std::nullopt);
  return masked(expand(share, self.sizes(), false), hit);
}

Tensor selected_grad(const Tensor& grad, const Dims& sizes, int64_t dim, const Tensor& indices,
                     bool keepdim) {
  if (sizes.empty()) return grad;
  const bool drop = !keepdim;
  return scatter_dim(drop ? unsqueeze(grad, wrap_dim(dim, int64_t(sizes.size()))) : grad, sizes,
                     dim,
                     drop ? unsqueeze(indices, wrap_dim(dim, int64_t(sizes.size()))) : indices);
}

Tensor aminmax_grad(const TensorList& grads, const Tensor& self, const TensorList& results,
                    std::optional<int64_t> dim, bool keepdim) {
  return where_equal(grads[0], self, results[0], as_dims(dim), keepdim) +
         where_equal(grads[1], self, results[1], as_dims(dim), keepdim);
}

// ---- products
// -----------------------------------------------------------------------------------------------

namespace {
bool any_zero(const Tensor& t) {
  NoGrad off;
  if (!has_values(t)) return is_transform(t);  // of a batch: the general way
  return item(any(eq(t, 0))).to_bool();
}

// For each element, the product of the others along `dim`; exact with zeros.
Tensor product_of_others(const Tensor& self, int64_t dim) {
  const int64_t n = self.size(dim);
  Dims shape = self.sizes();
  shape[size_t(dim)] = 1;
  Tensor one = ones(shape, self.dtype(), self.device());
  Tensor before = cumprod(cat({one, narrow(self, dim, 0, n - 1)}, dim), dim, std::nullopt);
  Tensor after = flip(
      cumprod(cat({one, flip(narrow(self, dim, 1, n - 1), Dims{dim})}, dim), dim, std::nullopt),
      Dims{dim});
  return before * after;
}
}  // namespace

Tensor prod_grad(const Tensor& grad, const Tensor& self, const Tensor& result,
                 const std::optional<Dims>& dims, bool keepdim) {
  if (self.dim() == 0) return grad;
  if (self.numel() == 0) return zeros(self.sizes(), self.dtype(), self.device());
  Tensor g = with_kept(grad, dims, self.dim(), keepdim);
  if (!any_zero(self)) return g * conj(with_kept(result, dims, self.dim(), keepdim) / self);
  if (dims) return g * conj(product_of_others(self, wrap_dim((*dims)[0], self.dim())));
  return g * conj(reshape(product_of_others(reshape(self, Dims{-1}), 0), self.sizes()));
}

Tensor reverse_cumsum(const Tensor& t, int64_t dim) {
  if (t.dim() == 0) return t;
  return flip(cumsum(flip(t, Dims{dim}), dim, std::nullopt), Dims{dim});
}

Tensor cumprod_grad(const Tensor& grad, const Tensor& self, int64_t dim) {
  if (self.dim() == 0 || self.numel() == 0) return grad;
  dim = wrap_dim(dim, self.dim());
  if (!any_zero(self))
    return reverse_cumsum(grad * conj(cumprod(self, dim, std::nullopt)), dim) / conj(self);
  const int64_t n = self.size(dim);
  TensorList parts;
  for (int64_t k = 0; k < n; k++) {  // products that element k takes part in, without it
    Tensor tail = cumprod(narrow(self, dim, k + 1, n - k - 1), dim, std::nullopt);
    Dims shape = self.sizes();
    shape[size_t(dim)] = 1;
    Tensor rest = cat({ones(shape, self.dtype(), self.device()), tail}, dim);
    if (k > 0) rest = rest * prod_dim(narrow(self, dim, 0, k), dim, true, std::nullopt);
    parts.push_back(
        sum_dim(narrow(grad, dim, k, n - k) * conj(rest), Dims{dim}, true, std::nullopt));
  }
  return cat(parts, dim);
}

// ---- moments and norms
// --------------------------------------------------------------------------------------

Tensor var_mean_grad(const TensorList& grads, const Tensor& self, const Tensor& spread_value,
                     const std::optional<Dims>& dim, double correction, bool keepdim, bool root) {
  const double n = double(reduced_count(self.sizes(), dim));
  Tensor g = grads[0];
  if (root) g = masked(g / (spread_value * 2), ne(spread_value, 0));
  const auto kept = dim && !dim->empty() ? dim : std::nullopt;
  Tensor centred = self - mean_dim(self, kept, self.dim() > 0, std::nullopt);
  Tensor from_var = spread(g, self.sizes(), dim, keepdim) * (centred * (2 / (n - correction)));
  return from_var + spread(grads[1] / n, self.sizes(), dim, keepdim);
}

Tensor norm_grad(const Tensor& grad, const Tensor& self, const Tensor& result, double ord,
                 const std::optional<Dims>& dim, bool keepdim) {
  Tensor g = with_kept(grad, dim, self.dim(), keepdim),
         norm = with_kept(result, dim, self.dim(), keepdim);
  if (ord == 0) return zeros(self.sizes(), self.dtype(), self.device());
  if (ord == 1) return sgn(self) * g;
  if (ord == 2) return self * masked(g / norm, ne(norm, 0));
  Tensor size = abs(self);
  if (std::isinf(ord)) {
    Tensor hit = logical_or(eq(size, norm), isnan(size));
    return sgn(self) * masked(g / sum_dim(hit, dim && !dim->empty() ? dim : std::nullopt,
                                          self.dim() > 0, std::nullopt),
                              hit);
  }
  Tensor scale = masked(g / pow(norm, ord - 1), ne(norm, 0));
  if (ord < 1) return masked(sgn(self) * pow(size, ord - 1), ne(self, 0)) * scale;
  if (ord < 2) return sgn(self) * pow(size, ord - 1) * scale;
  return self * pow(size, ord - 2) * scale;
}

Tensor logsumexp_grad(const Tensor& grad, const Tensor& self, const Tensor& result, const Dims& dim,
                      bool keepdim) {
  Tensor top = with_kept(result, dim, self.dim(), keepdim);
  return with_kept(grad, dim, self.dim(), keepdim) *
         ops::conj(
             exp(self - _where(isinf(real(top)),
                               zeros_like(top, std::nullopt, std::nullopt, std::nullopt), top)));
}

// ---- scans and sorting
// --------------------------------------------------------------------------------------

Tensor gather_dim(const Tensor& self, int64_t dim, const Tensor& indices) {
  return self.dim() == 0 ? self : gather(self, dim, indices, false);
}

Tensor scatter_dim(const Tensor& grad, const Dims& sizes, int64_t dim, const Tensor& indices) {
  if (sizes.empty()) return reshape(grad, sizes);
  return scatter_add(zeros(sizes, grad.dtype(), grad.device()), dim, indices, grad);
}

Tensor cumextreme_grad(const Tensor& grad, const Tensor& self, const Tensor& indices, int64_t dim) {
  return self.numel() == 0 ? grad : scatter_dim(grad, self.sizes(), dim, indices);
}

Tensor logcumsumexp_grad(const Tensor& grad, const Tensor& self, const Tensor& result,
                         int64_t dim) {
  if (self.dim() == 0 || self.numel() == 0) return grad;
  if (self.is_complex())
    return ops::conj(exp(self)) * reverse_cumsum(grad * ops::conj(exp(-result)), dim);
  // Both signs of the gradient in logarithms, so that exp(-result) cannot overflow. The lowest
  // number stands for log(0): infinities would turn into NaN in the second derivative.
  auto part = [&](const Tensor& log_grad) {
    Tensor total = flip(logcumsumexp(flip(log_grad - result, Dims{dim}), dim), Dims{dim});
    return exp(total + self);
  };
  const double lowest = grad.dtype() == DType::Float64   ? std::numeric_limits<double>::lowest()
                        : grad.dtype() == DType::Float16 ? -65504.0
                                                         : -3.3e38;
  Tensor none = full(Dims{}, lowest, grad.dtype(), grad.device());
  Tensor size = log(abs(grad));
  return part(_where(gt(grad, 0), size, none)) - part(_where(lt(grad, 0), size, none));
}

Tensor median_grad(const Tensor& grad, const Tensor& self, const Tensor& result) {
  return where_equal(grad, self, result, std::nullopt, false);
}

Tensor number_like(const Scalar& value, const Tensor& like) {
  const bool exact = value.is_integral() || category(like.dtype()) >= Category::Floating;
  return full(Dims{}, value, exact ? like.dtype() : default_dtype(), like.device());
}

Tensor bucketed(const Tensor& boundaries, const Tensor& values, bool out_int32, bool right) {
  check(boundaries.dim() == 1, "boundaries tensor must be 1 dimension, but got dim(",
        boundaries.dim(), ")");
  return searchsorted(boundaries, values, out_int32, right, std::nullopt, std::nullopt);
}

// ---- softmax
// ------------------------------------------------------------------------------------------------

Tensor softmax_grad_output(const Tensor& grad, const Tensor& grad_output, const Tensor& output,
                           int64_t dim) {
  const bool keep = output.dim() > 0;
  Tensor total = sum_dim(grad_output * output, Dims{dim}, keep, std::nullopt);
  return grad * (grad_output - total) -
         grad_output * sum_dim(grad * output, Dims{dim}, keep, std::nullopt);
}

Tensor log_softmax_grad_output(const Tensor& grad, const Tensor& grad_output, const Tensor& output,
                               int64_t dim) {
  return -(grad * exp(output)) * sum_dim(grad_output, Dims{dim}, output.dim() > 0, std::nullopt);
}

// ---- losses
// -------------------------------------------------------------------------------------------------

Tensor reduced_loss(const Tensor& losses, const std::string& reduction) {
  if (reduction == "mean") return mean(losses, std::nullopt);
  if (reduction == "sum") return sum(losses, std::nullopt);
  check<ValueError>(reduction == "none", reduction,
                    " is not a valid value for reduction; expected 'none', 'mean' or 'sum'");
  return losses;
}

Tensor nll_of(const Tensor& self, const Tensor& target, const OptTensor& weight, int64_t reduction,
              int64_t ignore_index) {
  return std::get<0>(_nll_loss(self, target, weight, reduction, ignore_index));
}

Tensor cross_entropy_grad(const Tensor& grad, const Tensor& self, const Tensor& target,
                          const OptTensor& weight, int64_t reduction, int64_t ignore_index,
                          const TensorList& results) {
  if (!grad_enabled())
    return _cross_entropy_backward(grad, self, target, weight, reduction, ignore_index, results[1],
                                   results[2]);
  Tensor logs = _log_softmax(self, self.dim() == 1 ? 0 : 1);
  Tensor from_logs =
      _nll_loss_backward(grad, self.sizes(), target, weight, reduction, ignore_index, results[1]);
  return _log_softmax_backward(from_logs, logs, self.dim() == 1 ? 0 : 1);
}

}  // namespace flambeau::formulas
