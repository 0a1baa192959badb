// Derivatives and compositions of reductions, scans, sorting, softmax, normalisation and losses.
#pragma once
#include <tuple>

#include "core/tensor.h"

namespace flambeau::formulas {

// ---- arguments and small pieces
inline Tensor first_of(const std::tuple<Tensor, Tensor>& t) { return std::get<0>(t); }
inline Tensor second_of(const std::tuple<Tensor, Tensor>& t) { return std::get<1>(t); }
inline double number_or(const std::optional<Scalar>& s, double other) {
  return s ? s->to_double() : other;
}
Tensor nan_mean(const Tensor& self, const std::optional<Dims>& dim, bool keepdim,
                std::optional<DType> dtype);
Tensor reverse_cumsum(const Tensor& t, int64_t dim);

// ---- reductions
Tensor selected_grad(const Tensor& grad, const Dims& sizes, int64_t dim, const Tensor& indices,
                     bool keepdim);
Tensor aminmax_grad(const TensorList& grads, const Tensor& self, const TensorList& results,
                    std::optional<int64_t> dim, bool keepdim);
Tensor var_mean_grad(const TensorList& grads, const Tensor& self, const Tensor& spread_value,
                     const std::optional<Dims>& dim, double correction, bool keepdim, bool root);
Tensor norm_grad(const Tensor& grad, const Tensor& self, const Tensor& result, double ord,
                 const std::optional<Dims>& dim, bool keepdim);
Tensor logsumexp_grad(const Tensor& grad, const Tensor& self, const Tensor& result, const Dims& dim,
                      bool keepdim);

// ---- scans and sorting
Tensor cumextreme_grad(const Tensor& grad, const Tensor& self, const Tensor& indices, int64_t dim);
Tensor logcumsumexp_grad(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim);
Tensor median_grad(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor gather_dim(const Tensor& self, int64_t dim, const Tensor& indices);  // 0-d aware
Tensor scatter_dim(const Tensor& grad, const Dims& sizes, int64_t dim, const Tensor& indices);

Tensor number_like(const Scalar& value, const Tensor& like);
Tensor bucketed(const Tensor& boundaries, const Tensor& values, bool out_int32, bool right);

// ---- softmax
Tensor softmax_grad_output(const Tensor& grad, const Tensor& grad_output, const Tensor& output,
                           int64_t dim);
Tensor log_softmax_grad_output(const Tensor& grad, const Tensor& grad_output, const Tensor& output,
                               int64_t dim);

// ---- normalisation: fused kernels, or compositions while a graph of the backward pass is wanted
Tensor layer_norm_grad(const TensorList& grads, const Tensor& input, const Dims& shape,
                       const OptTensor& weight, const TensorList& results, double eps);
Tensor layer_norm_weight_grad(const TensorList& grads, const Tensor& input, const Dims& shape,
                              const TensorList& results, double eps);
Tensor leading_sum(const Tensor& grad, const Dims& shape);
Tensor rms_norm_grad(const Tensor& grad, const Tensor& input, const Dims& shape,
                     const OptTensor& weight, const Tensor& rstd, double eps);
Tensor rms_norm_weight_grad(const Tensor& grad, const Tensor& input, const Dims& shape,
                            const Tensor& rstd, double eps);
Tensor batch_norm_grad(const TensorList& grads, const Tensor& input, const OptTensor& weight,
                       const TensorList& results, double eps);
Tensor batch_norm_weight_grad(const TensorList& grads, const Tensor& input,
                              const TensorList& results, double eps);
Tensor channel_view(const Tensor& t, int64_t ndim);
Tensor channel_sum(const Tensor& grad);
Tensor group_norm_grad(const TensorList& grads, const Tensor& input, int64_t groups,
                       const OptTensor& weight, const TensorList& results, double eps);
Tensor group_norm_weight_grad(const TensorList& grads, const Tensor& input, int64_t groups,
                              const TensorList& results, double eps);

// ---- losses
Tensor reduced_loss(const Tensor& losses, const std::string& reduction);
Tensor cross_entropy_grad(const Tensor& grad, const Tensor& self, const Tensor& target,
                          const OptTensor& weight, int64_t reduction, int64_t ignore_index,
                          const TensorList& results);
Tensor nll_of(const Tensor& self, const Tensor& target, const OptTensor& weight, int64_t reduction,
              int64_t ignore_index);

}  // namespace flambeau::formulas
