// Derivatives of reductions of scattered elements.
#pragma once
#include "core/tensor.h"

namespace flambeau::formulas {

Tensor scatter_reduce_self_grad(const Tensor& grad, const Tensor& self, int64_t dim,
                                const Tensor& index, const Tensor& src, const std::string& reduce,
                                bool include_self, const Tensor& result);
Tensor scatter_reduce_src_grad(const Tensor& grad, const Tensor& self, int64_t dim,
                               const Tensor& index, const Tensor& src, const std::string& reduce,
                               bool include_self, const Tensor& result);
// The index of a dimension as one of scatter, which has the source's shape.
Tensor scatter_index(const Tensor& index, const Dims& sizes, int64_t dim);
Tensor as_strided_scatter_self_grad(const Tensor& grad, const Tensor& self, const Dims& size,
                                    const Dims& stride, std::optional<int64_t> storage_offset);
Tensor as_strided_scatter_src_grad(const Tensor& grad, const Tensor& self, const Dims& size,
                                   const Dims& stride, std::optional<int64_t> storage_offset);

}  // namespace flambeau::formulas
