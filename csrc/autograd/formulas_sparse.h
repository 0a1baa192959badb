// Derivatives of sparse tensors' operators.
#pragma once
#include <string>

#include "core/tensor.h"

namespace flambeau::formulas {

Tensor scaled(const Tensor& grad, const Scalar& by);
Tensor sparse_take_grad(const Tensor& grad, const Tensor& self, const Tensor& pattern);
Tensor to_dense_grad(const Tensor& grad, const Tensor& self, std::optional<bool> masked);
Tensor to_sparse_grad(const Tensor& grad, const Tensor& self);
Tensor sparse_mask_grad(const Tensor& grad, const Tensor& self, const Tensor& mask);
Tensor sparse_addmm_mat1(const Tensor& grad, const Tensor& mat1, const Tensor& mat2,
                         const Scalar& alpha);
Tensor sparse_addmm_mat2(const Tensor& grad, const Tensor& mat1, const Tensor& mat2,
                         const Scalar& alpha);
Tensor sparse_product_self(const Tensor& grad, const Tensor& self, const Tensor& other);
Tensor sparse_product_other(const Tensor& grad, const Tensor& self, const Tensor& other);
Tensor sparse_sum_again(const Tensor& grad, const Tensor& grad_output, const Dims& dim);
Tensor sparse_narrow_grad(const Tensor& grad, const Tensor& self, int64_t dim, int64_t start);
Tensor sparse_softmax_grad(const Tensor& grad, const Tensor& result, int64_t dim,
                           const Tensor& self);
Tensor sparse_log_softmax_grad(const Tensor& grad, const Tensor& result, int64_t dim,
                               const Tensor& self);
// RuntimeError: the operator has no derivative.
Tensor no_derivative(const std::string& op);

}  // namespace flambeau::formulas
