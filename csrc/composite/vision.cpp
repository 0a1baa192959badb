// Derivatives of sampling on a grid and of sums of bags.
#include "autograd/formulas.h"
#include "core/transform.h"
#include "kernels/index.h"
#include "ops/all.h"

namespace flambeau::formulas {
using namespace ops;
namespace {

Dims raised(const Dims& order, size_t d) {
  Dims out = order;
  out[d]++;
  return out;
}
Tensor component(const Tensor& grad, size_t d) {
  return unsqueeze(select(grad, -1, int64_t(d)), 1);
}
Tensor sum_of(const TensorList& parts) {
  Tensor out = parts[0];
  for (size_t i = 1; i < parts.size(); i++) out = out + parts[i];
  return out;
}

// The bag of each index, and how many indices count in it.
std::pair<Tensor, Tensor> bag_numbers(const Tensor& indices, const Tensor& offsets,
                                      int64_t padding_idx) {
  Tensor index = kernels::as_positions(readable(indices, "embedding_bag"), "embedding_bag"),
         start = kernels::as_positions(readable(offsets, "embedding_bag"), "embedding_bag");
  Tensor bag = flambeau::empty(index.sizes(), DType::Int64),
         counts = flambeau::empty(start.sizes(), DType::Int64);
  const int64_t n = index.numel(), bags = start.numel();
  for (int64_t b = 0; b < bags; b++) {
    const int64_t end = b + 1 < bags ? start.data<int64_t>()[b + 1] : n;
    int64_t count = 0;
    for (int64_t i = start.data<int64_t>()[b]; i < end; i++) {
      bag.data<int64_t>()[i] = b;
      count += index.data<int64_t>()[i] != padding_idx;
    }
    counts.data<int64_t>()[b] = std::max<int64_t>(count, 1);
  }
  return {bag, counts};
}

}  // namespace

Tensor slope_grad_output(const Tensor& grad, const Tensor& input, const Tensor& grid, int64_t mode,
                         int64_t padding, bool align_corners, const Dims& order) {
  TensorList parts;
  for (size_t d = 0; d < order.size(); d++)
    parts.push_back(component(grad, d) *
                    _grid_sample(input, grid, mode, padding, align_corners, raised(order, d)));
  return sum_of(parts);
}
Tensor slope_input(const Tensor& grad, const Tensor& grad_output, const Tensor& grid,
                   const Dims& sizes, int64_t mode, int64_t padding, bool align_corners,
                   const Dims& order) {
  TensorList parts;
  for (size_t d = 0; d < order.size(); d++)
    parts.push_back(_grid_scatter(component(grad, d) * grad_output, grid, sizes, mode, padding,
                                  align_corners, raised(order, d)));
  return sum_of(parts);
}
Tensor slope_grid(const Tensor& grad, const Tensor& grad_output, const Tensor& input,
                  const Tensor& grid, int64_t mode, int64_t padding, bool align_corners,
                  const Dims& order) {
  TensorList parts;
  for (size_t d = 0; d < order.size(); d++)
    parts.push_back(_grid_slope(component(grad, d) * grad_output, input, grid, mode, padding,
                                align_corners, raised(order, d)));
  return sum_of(parts);
}

Tensor bags_weight(const Tensor& grad, const Tensor& indices, const Tensor& offsets,
                   const OptTensor& samples, const Dims& sizes, bool mean, int64_t padding_idx,
                   bool scale_grad_by_freq, bool sparse) {
  auto [bag, counts] = bag_numbers(indices, offsets, padding_idx);
  Tensor each = mean ? grad / unsqueeze(counts, 1) : grad;
  each = index_select(each, 0, bag);
  if (samples) each = each * unsqueeze(*samples, 1);
  return embedding_grad(each, indices, sizes, padding_idx, scale_grad_by_freq, sparse);
}

Tensor bags_samples(const Tensor& grad, const Tensor& weight, const Tensor& indices,
                    const Tensor& offsets, int64_t padding_idx) {
  auto [bag, counts] = bag_numbers(indices, offsets, padding_idx);
  Tensor rows = embedding(weight, indices, padding_idx, false, false);
  Tensor out = sum_dim(rows * index_select(grad, 0, bag), Dims{1}, false, std::nullopt);
  return padding_idx < 0 ? out : _where(eq(indices, padding_idx), 0, out);
}

}  // namespace flambeau::formulas
