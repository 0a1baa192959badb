// Operators of sparse tensors that are made of others.
#include <cmath>

#include "autograd/formulas.h"
#include "core/transform.h"
#include "ops/all.h"

namespace flambeau::ops {
namespace {

const char* shown_layout(const Tensor& t) {
  static const char* const names[] = {"Sparse", "SparseCsr", "SparseCsc", "SparseBsr", "SparseBsc"};
  return is_sparse(t) ? names[int(sparse_layout(t))] : "Strided";
}
void check_matrices(const char* op, const Tensor& a, const Tensor& b) {
  check(a.dim() == 2 && b.dim() == 2, op, ": Expected two matrices, got tensors with ", a.dim(),
        " and ", b.dim(), " dimensions");
  check(a.size(1) == b.size(0), op, ": mat1 and mat2 shapes cannot be multiplied (", a.size(0), "x",
        a.size(1), " and ", b.size(0), "x", b.size(1), ")");
}
Tensor nothing(int64_t rows, int64_t columns, const Tensor& like) {
  return expand(zeros(Dims{1, 1}, like.dtype(), visible_device(like.device())),
                Dims{rows, columns});
}

}  // namespace

Tensor coalesce(const Tensor& self) {
  check(is_sparse(self) && sparse_layout(self) == SparseLayout::Coo,
        "coalesce expected sparse coordinate tensor layout but got ", shown_layout(self));
  return is_coalesced(self) ? self : _coalesce(self);
}

Tensor to_dense(const Tensor& self, std::optional<DType> dtype, std::optional<bool> masked_grad) {
  if (is_sparse(self)) return _to_dense(self, dtype, masked_grad);
  return dtype && *dtype != self.dtype() ? _to_dtype(self, *dtype) : self;
}

Tensor to_sparse(const Tensor& self, const std::optional<std::string>& layout,
                 const std::optional<Dims>& blocksize, std::optional<int64_t> dense_dim) {
  const std::string to = layout.value_or("sparse_coo");
  if (is_sparse(self) && to == layout_name(sparse_layout(self)) && !blocksize) return self;
  if (to == "strided") return to_dense(self, std::nullopt, std::nullopt);
  return _to_sparse(self, to, blocksize, dense_dim);
}

Tensor _sparse_mm(const Tensor& sparse, const Tensor& dense) {
  check_matrices("sparse.mm", sparse, dense);
  if (is_sparse(sparse) && is_sparse(dense)) return _sparse_sparse_matmul(sparse, dense);
  const Tensor& strided = is_sparse(sparse) ? dense : sparse;
  if (is_sparse(sparse))
    return _sparse_addmm(nothing(sparse.size(0), dense.size(1), strided), sparse, dense, 0, 1);
  Tensor turned = _sparse_addmm(nothing(dense.size(1), sparse.size(0), strided),
                                transpose(dense, 0, 1), transpose(sparse, 0, 1), 0, 1);
  return transpose(turned, 0, 1);
}

Tensor _sparse_mm_reduce(const Tensor& sparse, const Tensor& dense, const std::string& reduce) {
  check_matrices("sparse.mm", sparse, dense);
  check<NotImplementedError>(!is_sparse(sparse) || sparse_layout(sparse) != SparseLayout::Coo,
                             "sparse.mm: a reduction takes a sparse CSR matrix, not one of layout "
                             "Sparse: to_sparse_csr()");
  check(is_sparse(sparse) && sparse_layout(sparse) == SparseLayout::Csr && !is_sparse(dense),
        "sparse.mm with a reduction: Expected a sparse CSR and a dense matrix, got layouts ",
        shown_layout(sparse), " and ", shown_layout(dense));
  const std::string by = reduce == "max" || reduce == "min" ? "a" + reduce : reduce;
  check(by == "sum" || by == "mean" || by == "amax" || by == "amin",
        "sparse.mm: reduce argument must be either sum, mean, amax or amin, got ", reduce);
  check(sparse.dtype() == dense.dtype(), "sparse.mm: Expected other to have scalar type ",
        sparse.dtype(), ", got ", dense.dtype());
  check<NotImplementedError>(dense.is_floating(),
                             "sparse.mm with a reduction is not implemented for '",
                             info(dense.dtype()).scalar_type, "'");
  Tensor at = _sparse_coordinates(sparse);
  Tensor products = unsqueeze(values(sparse), 1) * index_select(dense, 0, select(at, 0, 1));
  Tensor rows = expand(unsqueeze(select(at, 0, 0), 1), products.sizes());
  const Dims sizes{sparse.size(0), dense.size(1)};
  const bool extreme = by[0] == 'a';
  // what scatter_reduce starts with must not look like one of the extremes
  Tensor start = full(sizes, extreme ? Scalar(double(NAN)) : Scalar(0.0), products.dtype(),
                      visible_device(dense.device()));
  Tensor out = scatter_reduce_two(start, 0, rows, products, by, false);
  if (!extreme) return out;
  Tensor starts = crow_indices(sparse);
  const int64_t n = sparse.size(0);
  Tensor none = eq(narrow(starts, 0, 0, n), narrow(starts, 0, 1, n));
  return _where(unsqueeze(none, 1), 0.0, out);
}

Tensor sparse_sampled_addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2,
                            const Scalar& beta, const Scalar& alpha) {
  check(is_sparse(self) && sparse_layout(self) == SparseLayout::Csr,
        "sampled_addmm: Expected self to have layout SparseCsr, but got ", shown_layout(self));
  check(!is_sparse(mat1), "sampled_addmm: Expected mat1 to have strided layout, but got ",
        shown_layout(mat1));
  check(!is_sparse(mat2), "sampled_addmm: Expected mat2 to have strided layout, but got ",
        shown_layout(mat2));
  check_matrices("sampled_addmm", mat1, mat2);
  check(self.dim() == 2 && self.size(0) == mat1.size(0) && self.size(1) == mat2.size(1),
        "sampled_addmm: self of shape ", self.sizes(), " does not fit the product's shape ",
        Dims{mat1.size(0), mat2.size(1)});
  Tensor at = _sparse_coordinates(self);
  Tensor products = index_select(mat1, 0, select(at, 0, 0)) *
                    index_select(transpose(mat2, 0, 1), 0, select(at, 0, 1));
  Tensor sums = sum_dim(products, Dims{1}, false, std::nullopt) * alpha;
  if (beta.is_complex() || beta.to_double() != 0) sums = sums + values(self) * beta;
  return _sparse_like(detach(self), sums);
}

}  // namespace flambeau::ops
