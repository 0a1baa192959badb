#include "autograd/formulas_pointwise.h"

#include <cmath>

#include "autograd/formulas.h"
#include "autograd/node.h"
#include "core/absent.h"
#include "dispatch/promotion.h"
#include "kernels/pointwise.h"
#include "ops/all.h"

namespace flambeau {

Tensor subtract_from(const Operand& a, const Tensor& b) {
  return a.is_tensor() ? ops::sub(a.tensor(), b, 1) : ops::rsub(b, a, 1);
}
Operand operator-(int a, const Operand& b) {
  return b.is_tensor() ? Operand(ops::rsub(b.tensor(), a, 1)) : Operand(Scalar(a) - b.scalar());
}

namespace formulas {
using namespace ops;

bool is_floor(const char* op, const std::optional<std::string>& mode) {
  check(*mode == "floor" || *mode == "trunc", op,
        " expected rounding_mode to be one of None, 'trunc', or 'floor' but found '", *mode, "'");
  return *mode == "floor";
}

Tensor as_tensor_like(const Operand& value, const Tensor& like) {
  if (value.is_tensor()) return value.tensor();
  Tensor t = full(Dims{}, value.scalar(), std::nullopt, like.device());
  t->wrapped_number = true;
  return t;
}

Tensor as_condition(const Tensor& c) {
  return c.dtype() == DType::UInt8 ? _to_dtype(c, DType::Bool) : c;
}
Operand conj(const Operand& o) {
  return o.is_tensor() ? Operand(ops::conj(o.tensor())) : Operand(flambeau::conj(o.scalar()));
}
std::optional<DType> dtype_or(std::optional<DType> t, const Tensor& like) {
  return t.value_or(like.dtype());
}
std::optional<Device> device_or(std::optional<Device> d, const Tensor& like) {
  return d.value_or(like.device());
}
std::optional<DType> dtype_or_default(std::optional<DType> t) {
  return t.value_or(default_dtype());
}
std::optional<DType> dtype_named(const std::string& name) {
  static const char* names[] = {"Bool",    "UInt8",   "Int8",      "Int16",
                                "Int32",   "Int64",   "Float16",   "BFloat16",
                                "Float32", "Float64", "Complex64", "Complex128"};
  for (int i = 0; i < kNumDTypes; i++)
    if (name == names[i]) return DType(i);
  return name == "Complex32" ? std::optional(DType::Complex32) : std::nullopt;
}
std::optional<Device> device_named(const std::string& name) { return parse_device(name); }
Dims negated(const Dims& d) {
  Dims out = d;
  for (auto& v : out) v = -v;
  return out;
}

// ---- compositions
// ------------------------------------------------------------------------------------

Tensor power(const Tensor& self, const Operand& exponent) {
  if (!exponent.is_tensor()) {
    const Scalar& e = exponent.scalar();
    if (category(self.dtype()) <= Category::Integral && e.is_integral())
      check(e.to_int() >= 0, "Integers to negative integer powers are not allowed.");
    if (!e.is_complex() && self.is_floating() && !self->requires_grad) {
      double v = e.to_double();
      if (v == 2.0) return _square(self);
      if (v == 0.5) return sqrt(self);
    }
  }
  return _pow(self, exponent);
}

Tensor to_wide(const Tensor& self, const Operand& other) {
  bool complex_result = self.is_complex() || other.is_complex();
  return converted(self, complex_result ? DType::Complex128 : DType::Float64, {}, false, {});
}
Operand to_wide_operand(const Operand& o) {
  if (!o.is_tensor()) return o.scalar().is_complex() ? o : Operand(o.scalar().to_double());
  return converted(o.tensor(), o.tensor().is_complex() ? DType::Complex128 : DType::Float64, {},
                   false, {});
}

Tensor round_to(const Tensor& self, int64_t decimals) {
  if (decimals == 0) return round(self);
  check<NotImplementedError>(self.is_floating(), "\"round_cpu\" not implemented for '",
                             info(self.dtype()).name, "'");
  double scale = std::pow(10.0, std::abs(double(decimals)));
  return decimals > 0 ? round(self * scale) / scale : round(self / scale) * scale;
}

Tensor logit_of(const Tensor& self, std::optional<double> eps) {
  if (!eps || *eps < 0) return _logit(self);
  // not clamp: its derivative at the bounds and its order of them differ
  Tensor x = is_floating(self.dtype()) ? self : _to_dtype(self, default_dtype());
  const Scalar low(*eps), high(1 - *eps);
  return _logit(_where(lt(x, low), low, _where(gt(x, high), high, x)));
}
Tensor logit_grad(const Tensor& grad, const Tensor& self) {
  Tensor inside = logical_and(ge(self, 0), le(self, 1));
  return _where(inside, grad / (self * (1 - self)), std::numeric_limits<double>::quiet_NaN());
}

Tensor float_powered(const Tensor& self, const Operand& exponent) {
  Tensor result = float_power(self, exponent);
  check(result.dtype() == self.dtype(), "the base given to float_power_ has dtype ", self.dtype(),
        " but the operation's result requires dtype ", result.dtype());
  check(equal(self.sizes(), result.sizes()), "output with shape ", self.sizes(),
        " doesn't match the broadcast shape ", result.sizes(), " (float_power_)");
  return copy_(self, result, false);
}

Tensor replace_nonfinite(const Tensor& self, std::optional<double> nan,
                         std::optional<double> posinf, std::optional<double> neginf) {
  if (category(self.dtype()) <= Category::Integral) return clone(self, {});
  check(!self.is_complex(),
        "nan_to_num: complex tensors are not supported, apply it to real() and imag()");
  double largest = 0;
  switch (self.dtype()) {
    case DType::Float16:
      largest = 65504.0;
      break;
    case DType::BFloat16:
      largest = 3.3895313892515355e38;
      break;
    case DType::Float32:
      largest = std::numeric_limits<float>::max();
      break;
    default:
      largest = std::numeric_limits<double>::max();
  }
  return _nan_to_num(self, nan.value_or(0.0), posinf.value_or(largest), neginf.value_or(-largest));
}

Tensor angle_of(const Tensor& self) {
  if (category(self.dtype()) <= Category::Integral) return _angle(_to_dtype(self, default_dtype()));
  return _angle(self);
}

TensorList nonzero_tuple(const Tensor& condition) {
  Tensor at = nonzero(condition.dim() ? condition : unsqueeze(condition, 0));
  return unbind(at, 1);
}

Tensor clamp_tensors(const Tensor& self, const OptTensor& low, const OptTensor& high) {
  check(low || high, "torch.clamp: At least one of 'min' or 'max' must not be None");
  if (low && high) return _clamp(self, *low, *high);
  return low ? clamp_min(self, *low) : clamp_max(self, *high);
}
Tensor clamp_numbers(const Tensor& self, const std::optional<Scalar>& low,
                     const std::optional<Scalar>& high) {
  check(low || high, "torch.clamp: At least one of 'min' or 'max' must not be None");
  if (low && high) return _clamp(self, *low, *high);
  return low ? clamp_min(self, *low) : clamp_max(self, *high);
}
Tensor square_of(const Tensor& self) {
  return self.dtype() == DType::Bool ? _to_dtype(self, DType::Int64) : _square(self);
}
Tensor above(const Tensor& self, const Operand& low) {
  return low.is_tensor() ? ge(self, low) : gt(self, low);
}
Tensor below(const Tensor& self, const Operand& high) {
  return high.is_tensor() ? le(self, high) : lt(self, high);
}
Tensor lt_operands(const Operand& a, const Operand& b) {
  if (a.is_tensor()) return lt(a.tensor(), b);
  if (b.is_tensor()) return gt(b.tensor(), a);
  return full(Dims{}, a.scalar().to_double() < b.scalar().to_double(), std::nullopt, std::nullopt);
}

Tensor celu_of(const Tensor& self, const Scalar& alpha) {
  check(alpha.to_double() != 0, "ZeroDivisionError: alpha cannot be 0 for CELU");
  return elu(self, alpha, 1, Scalar(1.0 / alpha.to_double()));
}
Tensor gelu_of(const Tensor& self, const std::string& approximate) {
  if (approximate == "none") return _gelu(self);
  check(approximate == "tanh", "approximate argument must be either none or tanh.");
  return _gelu_tanh(self);
}
Tensor prelu_of(const Tensor& self, const Tensor& weight) {
  check(weight.dim() <= 1,
        "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = ", weight.dim());
  if (weight.numel() == 1) return _prelu(self, reshape(weight, Dims{}));
  int64_t channels = self.dim() > 1 ? self.sizes()[1] : 1;
  check(weight.numel() == channels,
        "Mismatch of parameter numbers and input channel size. Found parameter numbers = ",
        weight.numel(), " and channel size = ", channels, ".");
  Dims shape(size_t(self.dim()), 1);
  shape[1] = channels;
  return _prelu(self, reshape(weight, shape));
}
Tensor glu_of(const Tensor& self, int64_t dim) {
  check(self.dim() > 0, "glu does not support 0-dimensional tensors");
  int64_t n = self.size(dim);
  check(n % 2 == 0, "Halving dimension must be even, but dimension ", dim, " is size ", n);
  return narrow(self, dim, 0, n / 2) * sigmoid(narrow(self, dim, n / 2, n / 2));
}

namespace {
int64_t split_axis(const std::string& op, const Tensor& self, int64_t dim) {
  int64_t least = op == "hsplit" ? 1 : op == "vsplit" ? 2 : 3;
  check(self.dim() >= least, "torch.", op, " requires a tensor with at least ", least, " dimension",
        least > 1 ? "s" : "", ", but got a tensor with ", self.dim(), " dimensions!");
  return op == "hsplit" && self.dim() == 1 ? 0 : dim;
}
}  // namespace
TensorList axis_split(const std::string& op, const Tensor& self, int64_t sections, int64_t dim) {
  int64_t d = split_axis(op, self, dim);
  check(sections > 0 && self.sizes()[size_t(d)] % sections == 0, "torch.", op,
        " attempted to split along dimension ", d, ", but the size of the dimension ",
        self.sizes()[size_t(d)], " is not divisible by the split_size ", sections, "!");
  return tensor_split(self, sections, d);
}
TensorList axis_split(const std::string& op, const Tensor& self, const Dims& indices, int64_t dim) {
  return tensor_split_indices(self, indices, split_axis(op, self, dim));
}

Tensor at_least(const Tensor& self, int64_t ndim) {
  Tensor t = self;
  if (ndim == 3) {
    if (t.dim() == 0) return reshape(t, Dims{1, 1, 1});
    if (t.dim() == 1) return unsqueeze(unsqueeze(t, 0), -1);
    if (t.dim() == 2) return unsqueeze(t, -1);
    return t;
  }
  while (t.dim() < ndim) t = unsqueeze(t, 0);
  return t;
}

Tensor axis_stack(const TensorList& tensors, int64_t dim) {
  check(!tensors.empty(), "expected a non-empty TensorList");
  TensorList parts;
  for (auto& t : tensors) parts.push_back(at_least(t, dim == 0 ? 2 : dim == 1 ? 1 : 3));
  return cat(parts, dim == 1 && parts[0].dim() == 1 ? 0 : dim);
}
Tensor stack_columns(const TensorList& tensors) {
  check(!tensors.empty(), "column_stack expects a non-empty TensorList");
  TensorList parts;
  for (auto& t : tensors) parts.push_back(t.dim() <= 1 ? reshape(t, Dims{t.numel(), 1}) : t);
  return cat(parts, 1);
}
Tensor flip_axis(const Tensor& self, int64_t dim) {
  check(self.dim() > dim, "Input must be >= ", dim + 1, "-d.");
  return flip(self, Dims{dim});
}
Tensor filled(const Tensor& self, const Operand& value) { return fill_(clone(self, {}), value); }

Tensor converted(const Tensor& self, std::optional<DType> dtype, std::optional<Device> device,
                 bool copy, std::optional<MemoryFormat> format) {
  DType t = dtype.value_or(self.dtype());
  Device d = device.value_or(self.device());
  MemoryFormat f = format.value_or(MemoryFormat::Preserve);
  bool same_layout = f == MemoryFormat::Preserve || self.is_contiguous(f);
  bool same_device = visible_device(d).type == visible_device(self.device()).type;
  if (!same_device) {
    if (d.type != DeviceType::CPU) require_module(d.type);
    check<NotImplementedError>(
        !self.is_meta(),
        "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
        "torch.nn.Module.to() when moving module from meta to a different device.");
    if (d.type != DeviceType::Meta) fail_move(d.type);
    return empty_like(self, t, d, f);
  }
  if (t == self.dtype() && same_layout && !copy) return self;
  NodeMark mark;
  Tensor out = t == self.dtype() ? clone(self, f) : _to_dtype(self, t);
  return mark.named(same_layout || out.is_contiguous(f) ? out : clone(out, f), "ToCopyBackward0");
}

// ---- derivatives
// ---------------------------------------------------------------------------------------

Tensor masked(const Tensor& grad, const Tensor& mask) { return _where(mask, grad, 0); }

Tensor pow_self(const Tensor& grad, const Tensor& self, const Operand& exponent) {
  if (!exponent.is_tensor()) {
    const Scalar& e = exponent.scalar();
    if (!e.is_complex() && e.to_double() == 0) return zeros_like(self, {}, {}, {});
    return grad * ops::conj(_pow(self, Operand(e - Scalar(1))) * Operand(e));
  }
  const Tensor& e = exponent.tensor();
  Tensor slope = e * _pow(self, e - 1);
  return grad * ops::conj(_where(eq(e, 0), 0, slope));
}

Tensor pow_exponent(const Tensor& grad, const Tensor& self, const Operand& exponent,
                    const Tensor& result) {
  const Tensor& e = exponent.tensor();
  // where the base is zero and the exponent not negative the derivative is zero, not 0 * -inf
  Tensor flat =
      self.is_complex() || e.is_complex() ? eq(self, 0) : logical_and(eq(self, 0), ge(e, 0));
  Tensor base =
      category(self.dtype()) <= Category::Integral ? _to_dtype(self, result.dtype()) : self;
  return grad * ops::conj(_where(flat, 0, result * log(base)));
}

Tensor sgn_grad(const Tensor& grad, const Tensor& self, const Tensor& result) {
  if (!self.is_complex()) return zeros_like(grad, {}, {}, {});
  Tensor magnitude = abs(self);
  Tensor projected = result * real(ops::conj(result) * grad);
  return _where(eq(magnitude, 0), 0, (grad - projected) / magnitude);
}

Tensor sinc_grad(const Tensor& grad, const Tensor& self, const Tensor& result) {
  Tensor slope = (cos(self * M_PI) - result) / self;
  return _where(eq(self, 0), 0, grad * ops::conj(slope));
}

Tensor masked_log(const Tensor& self, const Operand& other) {
  Tensor o = other.is_tensor() ? other.tensor() : full_like(self, other.scalar(), {}, {}, {});
  return _where(logical_and(eq(self, 0), le(o, 0)), 0, log(o));
}

Tensor copysign_grad(const Tensor& grad, const Tensor& self, const Tensor& result) {
  return _where(eq(self, 0), 0, grad * (result / self));
}

Tensor angle_grad(const Tensor& grad, const Tensor& self) {
  if (!self.is_complex()) return zeros_like(grad, {}, {}, {});
  Tensor re = real(self), im = imag(self), squared = re * re + im * im;
  Tensor zero = eq(squared, 0);
  Tensor a = _where(zero, 0, grad * (-im) / squared), b = _where(zero, 0, grad * re / squared);
  return complex(a, b);
}

Tensor share_ties(const Tensor& grad, const Tensor& self, const Tensor& other, bool larger) {
  Tensor loses = larger ? lt(self, other) : gt(self, other);
  return _where(loses, 0, _where(eq(self, other), grad / 2, grad));
}

Tensor elu_grad(const Tensor& grad, const Tensor& self, const Scalar& alpha, const Scalar& scale,
                const Scalar& input_scale) {
  Scalar slope = alpha * scale * input_scale;
  return _where(gt(self, 0), grad * Operand(scale),
                grad * exp(clamp_max(self, 0) * Operand(input_scale)) * Operand(slope));
}

Tensor gelu_tanh_grad(const Tensor& grad, const Tensor& self) {
  constexpr double k = 0.79788456080286535588, c = 0.044715;
  Tensor cube = self * self * self, t = tanh((self + cube * c) * k);
  Tensor inner = (self * self * (3 * c) + 1) * k;
  return grad * ((t + 1) * 0.5 + self * (1 - t * t) * inner * 0.5);
}

Tensor silu_grad_grad(const Tensor& grad, const Tensor& grad_output, const Tensor& self) {
  Tensor s = sigmoid(self), d = s * (1 - s);
  return ops::conj(grad) * grad_output * ops::conj(d * (2 + self * (1 - 2 * s)));
}

Tensor mish_grad(const Tensor& grad, const Tensor& self) {
  Tensor t = tanh(softplus(self, 1, 20)), s = sigmoid(self);
  return grad * (t + self * s * (1 - t * t));
}

Tensor diagonal_grad(const Tensor& grad, const Dims& sizes, int64_t offset, int64_t dim1,
                     int64_t dim2) {
  Tensor out = zeros(sizes, grad.dtype(), grad.device());
  copy_(diagonal(out, offset, dim1, dim2), grad, false);
  return out;
}

Tensor unfold_grad(const Tensor& grad, const Dims& sizes, int64_t dimension, int64_t size,
                   int64_t step) {
  if (sizes.empty()) return reshape(grad, Dims{});
  Dims base = contiguous_strides(sizes), view_sizes = grad.sizes(), strides = base;
  size_t d = size_t(wrap_dim(dimension, int64_t(sizes.size())));
  strides[d] = base[d] * step;
  strides.push_back(base[d]);
  (void)size;
  return _strided_scatter(grad, sizes, base, 0, view_sizes, strides, 0);
}

Tensor as_strided_grad(const Tensor& grad, const Tensor& self, const Dims& size, const Dims& stride,
                       std::optional<int64_t> offset) {
  return _strided_scatter(grad, self.sizes(), self.strides(), self.offset(), size, stride,
                          offset.value_or(self.offset()));
}

}  // namespace formulas
}  // namespace flambeau
