#include "autograd/formulas_sparse.h"

#include "core/transform.h"
#include "ops/all.h"

namespace flambeau::formulas {
using namespace ops;
namespace {

bool is_coo(const Tensor& t) { return is_sparse(t) && sparse_layout(t) == SparseLayout::Coo; }
bool is_blocked(const Tensor& t) {
  return is_sparse(t) &&
         (sparse_layout(t) == SparseLayout::Bsr || sparse_layout(t) == SparseLayout::Bsc);
}
// Gradients have every place once.
Tensor distinct_places(const Tensor& t) { return is_coo(t) ? coalesce(t) : t; }
// `t` at the places of `pattern`.
Tensor at_places(const Tensor& t, const Tensor& pattern) {
  Tensor places = distinct_places(pattern);
  return _sparse_like(places, _sparse_take(t, places));
}

// Sums over the elements that differ in `dim` only, one for each element.
class GroupSums {
 public:
  GroupSums(const Tensor& t, int64_t dim)
      : dim_(wrap_dim(dim, t.dim())), sparse_dims_(sparse_dim(t)) {
    if (dim_ < sparse_dims_) groups_ = _sparse_groups(t, dim_);
  }
  Tensor operator()(const Tensor& values) const {
    if (dim_ >= sparse_dims_)
      return sum_dim(values, Dims{dim_ - sparse_dims_ + 1}, true, std::nullopt);
    Tensor sums = index_add(zeros_like(ops::detach(values), {}, {}), 0, groups_, values, 1);
    return index_select(sums, 0, groups_);
  }

 private:
  int64_t dim_, sparse_dims_;
  Tensor groups_;
};

}  // namespace

Tensor scaled(const Tensor& grad, const Scalar& by) {
  if (by.is_complex()) return mul(grad, Scalar(std::conj(by.to_complex())));
  return by.to_double() == 1 ? grad : mul(grad, by);
}

Tensor sparse_take_grad(const Tensor& grad, const Tensor& self, const Tensor& pattern) {
  Tensor out = _sparse_like(pattern, grad);
  return is_sparse(self) ? out : to_dense(out, std::nullopt, std::nullopt);
}

Tensor to_dense_grad(const Tensor& grad, const Tensor& self, std::optional<bool> masked) {
  if (masked.value_or(true)) return sparse_mask(grad, distinct_places(self));
  return to_sparse_grad(grad, self);
}

Tensor to_sparse_grad(const Tensor& grad, const Tensor& self) {
  if (!is_sparse(self)) return to_dense(grad, std::nullopt, std::nullopt);
  if (is_coo(self) && !is_sparse(grad)) return to_sparse_sparse_dim(grad, sparse_dim(self));
  if (is_sparse(grad) && sparse_layout(grad) == sparse_layout(self)) return grad;
  std::optional<Dims> block;
  if (is_blocked(self)) {
    const Tensor blocks = values(ops::detach(self));
    block = Dims{blocks.size(1), blocks.size(2)};
  }
  return _to_sparse(grad, layout_name(sparse_layout(self)), block,
                    is_sparse(grad) ? std::nullopt : std::optional<int64_t>(dense_dim(self)));
}

Tensor sparse_mask_grad(const Tensor& grad, const Tensor& self, const Tensor& mask) {
  Tensor out = sparse_mask(grad, mask);
  return is_sparse(self) ? out : to_dense(out, std::nullopt, std::nullopt);
}

Tensor sparse_addmm_mat1(const Tensor& grad, const Tensor& mat1, const Tensor& mat2,
                         const Scalar& alpha) {
  if (!is_sparse(mat1)) return scaled(mm(grad, mH(mat2)), alpha);
  if (is_sparse(mat2) || is_sparse(grad) || is_blocked(mat1))
    return at_places(scaled(mm(grad, mH(mat2)), alpha), mat1);
  // products of rows, at the places alone
  Tensor places = distinct_places(ops::detach(mat1)), at = _sparse_coordinates(places);
  Tensor products =
      index_select(grad, 0, select(at, 0, 0)) * index_select(conj(mat2), 0, select(at, 0, 1));
  return _sparse_like(places, scaled(sum_dim(products, Dims{1}, false, std::nullopt), alpha));
}

Tensor sparse_addmm_mat2(const Tensor& grad, const Tensor& mat1, const Tensor& mat2,
                         const Scalar& alpha) {
  Tensor out = scaled(mm(mH(mat1), grad), alpha);
  return is_sparse(mat2) ? at_places(out, mat2) : out;
}

Tensor sparse_product_self(const Tensor& grad, const Tensor& self, const Tensor& other) {
  return at_places(mm(grad, mH(other)), self);
}
Tensor sparse_product_other(const Tensor& grad, const Tensor& self, const Tensor& other) {
  return at_places(mm(mH(self), grad), other);
}

Tensor sparse_sum_again(const Tensor& grad, const Tensor& grad_output, const Dims& dim) {
  Tensor out = _sparse_sum_dim(grad, dim);
  return is_sparse(grad_output) ? out : to_dense(out, std::nullopt, std::nullopt);
}

Tensor sparse_narrow_grad(const Tensor& grad, const Tensor& self, int64_t dim, int64_t start) {
  const int64_t d = wrap_dim(dim, self.dim()), length = grad.size(d);
  if (start < 0) start += self.size(d);
  Dims before = grad.sizes(), after = grad.sizes();
  before[size_t(d)] = start;
  after[size_t(d)] = self.size(d) - start - length;
  Tensor inside = to_dense(grad, std::nullopt, std::nullopt);
  return sparse_mask(cat({zeros(before, grad.dtype()), inside, zeros(after, grad.dtype())}, d),
                     distinct_places(self));
}

Tensor sparse_softmax_grad(const Tensor& grad, const Tensor& result, int64_t dim, const Tensor&) {
  const GroupSums sums(result, dim);
  Tensor y = values(result), g = _sparse_take(grad, result);
  return _sparse_like(result, y * (g - sums(g * y)));
}
Tensor sparse_log_softmax_grad(const Tensor& grad, const Tensor& result, int64_t dim,
                               const Tensor&) {
  const GroupSums sums(result, dim);
  Tensor y = values(result), g = _sparse_take(grad, result);
  return _sparse_like(result, g - exp(y) * sums(g));
}

Tensor no_derivative(const std::string& op) {
  fail("derivative for aten::", op, " is not implemented");
}

}  // namespace flambeau::formulas
