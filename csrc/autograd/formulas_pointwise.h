// Helpers of the pointwise table: argument tests, small compositions, derivative pieces.
#pragma once
#include "core/tensor.h"

namespace flambeau::formulas {

// What expressions that choose a node's name ask of an argument.
inline bool is_tensor(const Operand& o) { return o.is_tensor(); }
inline bool is_number(const Tensor& t) { return t->wrapped_number; }

// ---- arguments
inline bool is_none(const std::optional<std::string>& s) { return !s; }
bool is_floor(const char* op, const std::optional<std::string>& mode);
inline bool is_floor(const std::string& op, const std::optional<std::string>& mode) {
  return is_floor(op.c_str(), mode);
}
Tensor as_tensor_like(const Operand& value, const Tensor& like);  // a number as a weak 0-d tensor
Tensor as_condition(const Tensor& condition);                     // bool
Operand conj(const Operand& o);
inline Dims shape_of(const Tensor& t) { return t.sizes(); }
inline DType dtype_of(const Tensor& t) { return t.dtype(); }
inline Device device_of(const Tensor& t) { return t.device(); }
std::optional<DType> dtype_or(std::optional<DType> t, const Tensor& like);
std::optional<Device> device_or(std::optional<Device> d, const Tensor& like);
std::optional<DType> dtype_or_default(std::optional<DType> t);
std::optional<DType> dtype_named(const std::string& name);
std::optional<Device> device_named(const std::string& name);
Dims negated(const Dims& d);
// `self` takes the shape and history of a view of it.
Tensor become(const Tensor& self, const Tensor& view);
inline Tensor itself(const Tensor& t) { return t; }

// ---- compositions
Tensor power(const Tensor& self, const Operand& exponent);
Tensor to_wide(const Tensor& self, const Operand& other);
Operand to_wide_operand(const Operand& o);
Tensor round_to(const Tensor& self, int64_t decimals);
Tensor logit_grad(const Tensor& grad, const Tensor& self);
Tensor float_powered(const Tensor& self, const Operand& exponent);
Tensor logit_of(const Tensor& self, std::optional<double> eps);
Tensor replace_nonfinite(const Tensor& self, std::optional<double> nan,
                         std::optional<double> posinf, std::optional<double> neginf);
Tensor angle_of(const Tensor& self);
TensorList nonzero_tuple(const Tensor& condition);
Tensor clamp_tensors(const Tensor& self, const OptTensor& low, const OptTensor& high);
Tensor clamp_numbers(const Tensor& self, const std::optional<Scalar>& low,
                     const std::optional<Scalar>& high);
Tensor square_of(const Tensor& self);
// Where `self` lies within a bound. At a number itself the gradient is 0, as relu's: the smallest
// of the subgradients. At an element of a tensor it is self's.
Tensor above(const Tensor& self, const Operand& low);
Tensor below(const Tensor& self, const Operand& high);
Tensor lt_operands(const Operand& a, const Operand& b);
Tensor celu_of(const Tensor& self, const Scalar& alpha);
Tensor gelu_of(const Tensor& self, const std::string& approximate);
Tensor prelu_of(const Tensor& self, const Tensor& weight);
Tensor glu_of(const Tensor& self, int64_t dim);
TensorList axis_split(const std::string& op, const Tensor& self, int64_t sections, int64_t dim);
TensorList axis_split(const std::string& op, const Tensor& self, const Dims& indices, int64_t dim);
Tensor axis_stack(const TensorList& tensors, int64_t dim);
Tensor stack_columns(const TensorList& tensors);
Tensor flip_axis(const Tensor& self, int64_t dim);
Tensor at_least(const Tensor& self, int64_t ndim);
Tensor filled(const Tensor& self, const Operand& value);
Tensor converted(const Tensor& self, std::optional<DType> dtype, std::optional<Device> device,
                 bool copy, std::optional<MemoryFormat> format);

// ---- derivatives
Tensor sgn_grad(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor sinc_grad(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor masked_log(const Tensor& self, const Operand& other);
Tensor copysign_grad(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor angle_grad(const Tensor& grad, const Tensor& self);
Tensor share_ties(const Tensor& grad, const Tensor& self, const Tensor& other, bool larger);
Tensor elu_grad(const Tensor& grad, const Tensor& self, const Scalar& alpha, const Scalar& scale,
                const Scalar& input_scale);
Tensor gelu_tanh_grad(const Tensor& grad, const Tensor& self);
Tensor silu_grad_grad(const Tensor& grad, const Tensor& grad_output, const Tensor& self);
Tensor mish_grad(const Tensor& grad, const Tensor& self);
Tensor diagonal_grad(const Tensor& grad, const Dims& sizes, int64_t offset, int64_t dim1,
                     int64_t dim2);
Tensor unfold_grad(const Tensor& grad, const Dims& sizes, int64_t dimension, int64_t size,
                   int64_t step);
Tensor as_strided_grad(const Tensor& grad, const Tensor& self, const Dims& size, const Dims& stride,
                       std::optional<int64_t> offset);

}  // namespace flambeau::formulas

namespace flambeau {
// Arithmetic between tensors and arguments that may be numbers.
Tensor subtract_from(const Operand& a, const Tensor& b);
template <class T>
  requires std::is_same_v<T, Operand>
Tensor operator-(const T& a, const Tensor& b) {
  return subtract_from(a, b);
}
Operand operator-(int a, const Operand& b);
}  // namespace flambeau
