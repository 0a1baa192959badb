// Named pieces of derivative formulas: compositions of differentiable operators.
#pragma once
#include "autograd/formulas_attention.h"
#include "autograd/formulas_fft.h"
#include "autograd/formulas_index.h"
#include "autograd/formulas_linalg.h"
#include "autograd/formulas_pointwise.h"
#include "autograd/formulas_pool.h"
#include "autograd/formulas_reduce.h"
#include "autograd/formulas_rnn.h"
#include "autograd/formulas_scatter.h"
#include "autograd/formulas_sparse.h"
#include "autograd/formulas_special.h"
#include "core/tensor.h"
#include "ops/all.h"

namespace flambeau::formulas {

// Sum back to `sizes` over dims that a reduction removed or broadcasting added.
Tensor spread(const Tensor& grad, const Dims& sizes, const std::optional<Dims>& dims, bool keepdim);
// The number of elements that a reduction over `dims` combines.
int64_t reduced_count(const Dims& sizes, const std::optional<Dims>& dims);
// Puts the gradient where the winners are; ties share it evenly.
Tensor where_equal(const Tensor& grad, const Tensor& self, const Tensor& result,
                   const std::optional<Dims>& dims, bool keepdim);
Tensor pow_self(const Tensor& grad, const Tensor& self, const Operand& exponent);
Tensor pow_exponent(const Tensor& grad, const Tensor& self, const Operand& exponent,
                    const Tensor& result);
Tensor prod_grad(const Tensor& grad, const Tensor& self, const Tensor& result,
                 const std::optional<Dims>& dims, bool keepdim);
Tensor cumprod_grad(const Tensor& grad, const Tensor& self, int64_t dim);
Tensor masked(const Tensor& grad, const Tensor& mask);  // grad where mask, else 0
Dims inverse_permutation(const Dims& dims);
TensorList cat_grads(const Tensor& grad, const std::vector<Dims>& shapes, int64_t dim);
Tensor slice_grad(const Tensor& grad, const Dims& sizes, int64_t dim, std::optional<int64_t> start,
                  std::optional<int64_t> end, int64_t step);
Tensor select_grad(const Tensor& grad, const Dims& sizes, int64_t dim, int64_t index);
Tensor repeat_grad(const Tensor& grad, const Dims& sizes, const Dims& repeats);
Tensor unsqueeze_multiple(const Tensor& t, const std::optional<Dims>& dims, int64_t ndim);
Tensor split_grads(const TensorList& grads, const Dims& sizes, int64_t dim);
Tensor unbind_grads(const TensorList& grads, int64_t dim);
Tensor index_grad(const Tensor& grad, const Dims& sizes, const std::vector<OptTensor>& indices);
Tensor copied(const Tensor& view);
TensorList copied(const TensorList& views);
Tensor to_real_if(const Tensor& grad, DType dtype);

}  // namespace flambeau::formulas
