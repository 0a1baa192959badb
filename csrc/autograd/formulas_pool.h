// Pieces of pooling formulas.
#pragma once
#include "core/tensor.h"

namespace flambeau::formulas {

// The elements at positions in the flattened plane.
Tensor take_in_plane(const Tensor& t, const Tensor& at);
Dims inner_sizes(const Dims& sizes);
// The leading part of a tensor: output padding of a transposed convolution leaves outputs without
// an input.
Tensor cut_to(const Tensor& t, const Dims& sizes);

// Gradients of _grid_slope.
Tensor slope_grad_output(const Tensor& grad, const Tensor& input, const Tensor& grid, int64_t mode,
                         int64_t padding, bool align_corners, const Dims& order);
Tensor slope_input(const Tensor& grad, const Tensor& grad_output, const Tensor& grid,
                   const Dims& sizes, int64_t mode, int64_t padding, bool align_corners,
                   const Dims& order);
Tensor slope_grid(const Tensor& grad, const Tensor& grad_output, const Tensor& input,
                  const Tensor& grid, int64_t mode, int64_t padding, bool align_corners,
                  const Dims& order);

// Gradients of _sum_bags.
Tensor bags_weight(const Tensor& grad, const Tensor& indices, const Tensor& offsets,
                   const OptTensor& samples, const Dims& sizes, bool mean, int64_t padding_idx,
                   bool scale_grad_by_freq, bool sparse);
Tensor bags_samples(const Tensor& grad, const Tensor& weight, const Tensor& indices,
                    const Tensor& offsets, int64_t padding_idx);

}  // namespace flambeau::formulas
