// Compositions and derivatives of indexing operators.
#pragma once
#include "core/tensor.h"

namespace flambeau::formulas {

// Each position once.
Tensor distinct(const Tensor& index);
Tensor sum_all(const Tensor& t);
Tensor fit_index_grad(const Tensor& grad, const Dims& sizes);  // zeros where src was not read
Tensor masked_filled(const Tensor& self, const Tensor& mask, const Operand& value);
Tensor selected_by_mask(const Tensor& self, const Tensor& mask);
Tensor masked_scatter_grad(const Tensor& grad, const Tensor& mask, const Dims& sizes);
Tensor take_flat(const Tensor& self, const Tensor& index);
Tensor taken_along(const Tensor& self, const Tensor& indices, std::optional<int64_t> dim);
Tensor interleaved(const Tensor& self, int64_t repeats, std::optional<int64_t> dim);
Tensor interleaved(const Tensor& self, const Tensor& repeats, std::optional<int64_t> dim,
                   std::optional<int64_t> output_size);
Tensor repeat_counts(const Tensor& repeats, std::optional<int64_t> output_size);
Tensor with_part(const Tensor& self, const Tensor& src, const Tensor& part);
// Of the weight; with `sparse`, of the rows that were read alone.
Tensor embedding_grad(const Tensor& grad, const Tensor& indices, const Dims& sizes,
                      int64_t padding_idx, bool scale_grad_by_freq, bool sparse);
Tensor embedding_masked(const Tensor& grad, const Tensor& indices, int64_t padding_idx,
                        bool scale_grad_by_freq);

}  // namespace flambeau::formulas
