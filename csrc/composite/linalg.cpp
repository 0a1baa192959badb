// Public factorisations and solvers, out of the LAPACK kernels.
#include <cmath>

#include "autograd/formulas.h"
#include "autograd/node.h"
#include "core/transform.h"
#include "kernels/linalg.h"
#include "ops/all.h"

namespace flambeau::ops {
using namespace linalg;

Tensor linalg_cholesky_uncast(const Tensor& self, bool upper) {
  auto [factor, info] = linalg_cholesky_ex(self, upper, false);
  check_info("linalg.cholesky", info, Failure::NotPositive);
  return factor;
}

std::tuple<Tensor, Tensor> qr_uncast(const Tensor& self, bool some) {
  return linalg_qr(self, some ? "reduced" : "complete");
}

std::tuple<Tensor, Tensor> linalg_lu_factor(const Tensor& A, bool pivot) {
  auto [lu, pivots, info] = linalg_lu_factor_ex(A, pivot, false);
  check_info("torch.linalg.lu_factor", info, Failure::ZeroPivot);
  return {lu, pivots};
}

std::tuple<Tensor, Tensor> linalg_solve_ex(const Tensor& A, const Tensor& B, bool left,
                                           bool check_errors) {
  auto [x, lu, pivots, info] = _linalg_solve_ex(A, B, left, check_errors);
  return {x, info};
}

Tensor linalg_solve_uncast(const Tensor& A, const Tensor& B, bool left) {
  auto [x, lu, pivots, info] = _linalg_solve_ex(A, B, left, false);
  check_info("torch.linalg.solve", info, Failure::SingularSolve);
  return x;
}

Tensor linalg_inv_uncast(const Tensor& A) {
  auto [inverse, info] = linalg_inv_ex(A, false);
  check_info("linalg.inv", info, Failure::SingularInverse);
  return inverse;
}

Tensor linalg_det(const Tensor& A) { return std::get<0>(_linalg_det(A)); }

std::tuple<Tensor, Tensor> linalg_slogdet(const Tensor& A) {
  auto [sign, size, lu, pivots] = _linalg_slogdet(A);
  return {sign, size};
}

Tensor logdet(const Tensor& self) {
  check_square("logdet", self);
  check_inexact("logdet", self, false);
  auto [sign, size] = linalg_slogdet(self);
  if (self.is_complex()) return size + log(sign);
  return _where(eq(sign, -1), filled(Dims{}, self.dtype(), self.device(), NAN), size);
}

std::tuple<Tensor, Tensor> linalg_ldl_factor(const Tensor& self, bool hermitian) {
  auto [ld, pivots, info] = linalg_ldl_factor_ex(self, hermitian, false);
  check_info("torch.linalg.ldl_factor", info, Failure::Ldl);
  return {ld, pivots};
}

// ---- eigenvalues and singular values: vectors are computed where a derivative will need them

std::tuple<Tensor, Tensor, Tensor> linalg_svd_uncast(const Tensor& A, bool full_matrices,
                                                     const std::optional<std::string>& driver) {
  return _linalg_svd(A, full_matrices, true, driver);
}

Tensor linalg_svdvals_uncast(const Tensor& A, const std::optional<std::string>& driver) {
  return std::get<1>(_linalg_svd(A, false, any_wants_grad(A) || is_transform(A), driver));
}

std::tuple<Tensor, Tensor, Tensor> svd_uncast(const Tensor& self, bool some, bool compute_uv) {
  check(self.dim() >= 2, "linalg.svd: input should have at least 2 dimensions, but has ",
        self.dim(), " dimensions instead");
  if (compute_uv) {
    auto [u, s, vh] = _linalg_svd(self, !some, true, std::nullopt);
    return {u, s, mH(vh)};
  }
  Tensor s = linalg_svdvals(self, std::nullopt);
  Dims batch = batch_sizes(self);
  const int64_t m = self.size(-2), n = self.size(-1);
  Tensor u = zeros(appended(batch, {m, m}), self.dtype(), self.device());
  Tensor v = empty_columns(appended(batch, {n, n}), self.dtype(), self.device());
  NoGrad off;
  return {u, s, zero_(v)};
}

std::tuple<Tensor, Tensor> linalg_eigh_uncast(const Tensor& self, const std::string& UPLO) {
  return _linalg_eigh(self, UPLO, true);
}

Tensor linalg_eigvalsh_uncast(const Tensor& self, const std::string& UPLO) {
  return std::get<0>(_linalg_eigh(self, UPLO, any_wants_grad(self) || is_transform(self)));
}

Tensor linalg_eigvals_uncast(const Tensor& self) {
  return any_wants_grad(self) || is_transform(self) ? std::get<0>(linalg_eig(self))
                                                    : _linalg_eigvals(self);
}

// ---- rank, pseudoinverse, condition

namespace {

OptTensor as_tensor(std::optional<double> value, const Tensor& like) {
  if (!value) return std::nullopt;
  return filled(Dims{}, real_dtype(like.dtype()), like.device(), *value);
}

double usual_tolerance(const Tensor& self) {
  const double eps =
      real_dtype(self.dtype()) == DType::Float64 ? 2.220446049250313e-16 : 1.1920928955078125e-07;
  return eps * double(std::max(self.size(-1), self.size(-2)));
}

}  // namespace

Tensor linalg_pinv_atol_rtol_float(const Tensor& self, std::optional<double> atol,
                                   std::optional<double> rtol, bool hermitian) {
  check_matrix("linalg.pinv", self);
  return linalg_pinv_atol_rtol_tensor(self, as_tensor(atol, self), as_tensor(rtol, self),
                                      hermitian);
}

Tensor linalg_pinv_rcond_tensor(const Tensor& self, const Tensor& rcond, bool hermitian) {
  return linalg_pinv_atol_rtol_tensor(self, as_tensor(0.0, self), rcond, hermitian);
}

Tensor linalg_matrix_rank_atol_rtol_tensor_uncast(const Tensor& input, const OptTensor& atol,
                                                  const OptTensor& rtol, bool hermitian) {
  check_matrix("torch.linalg.matrix_rank", input, "input");
  check_inexact("torch.linalg.matrix_rank", input);
  for (const OptTensor* t : {&atol, &rtol})
    check(!*t || !(*t)->is_complex(),
          "torch.linalg.matrix_rank: tolerance tensors of complex type are not supported.");
  Dims batch = batch_sizes(input);
  NoGrad off;
  if (input.numel() == 0) return zeros(batch, DType::Int64, input.device());
  Tensor values =
      hermitian ? abs(linalg_eigvalsh(input, "L")) : linalg_svdvals(input, std::nullopt);
  const DType real = values.dtype();
  Tensor absolute = atol ? *atol : *as_tensor(0.0, input), relative;
  if (rtol) {
    relative = *rtol;
  } else {
    relative = *as_tensor(usual_tolerance(input), input);
    if (atol) relative = _where(gt(*atol, 0), *as_tensor(0.0, input), relative);
  }
  Tensor largest = hermitian ? amax(values, Dims{-1}, true) : narrow(values, -1, 0, 1);
  Tensor limit = maximum(_to_dtype(unsqueeze(absolute, -1), real),
                         _to_dtype(mul(unsqueeze(relative, -1), largest), real));
  return sum_dim(gt(values, limit), Dims{-1}, false, std::nullopt);
}

Tensor linalg_matrix_rank_atol_rtol_float_uncast(const Tensor& self, std::optional<double> atol,
                                                 std::optional<double> rtol, bool hermitian) {
  check_matrix("torch.linalg.matrix_rank", self, "input");
  check_inexact("torch.linalg.matrix_rank", self);
  return linalg_matrix_rank_atol_rtol_tensor(self, as_tensor(atol, self), as_tensor(rtol, self),
                                             hermitian);
}

Tensor linalg_matrix_rank_tol_tensor_uncast(const Tensor& input, const Tensor& tol,
                                            bool hermitian) {
  return linalg_matrix_rank_atol_rtol_tensor(input, tol, as_tensor(0.0, input), hermitian);
}

namespace {

// ‖A‖ · ‖A⁻¹‖, infinite for singular A.
template <class F>
Tensor condition_by_inverse(const Tensor& self, F&& norm_of) {
  check_square("linalg.cond", self);
  auto [inverse, info] = linalg_inv_ex(self, false);
  Tensor singular = unsqueeze(unsqueeze(gt(info, 0), -1), -1);
  inverse = masked_fill(inverse, singular, INFINITY);
  return nan_to_num(norm_of(self) * norm_of(inverse), INFINITY, INFINITY, -INFINITY);
}

bool empty_condition(const Tensor& self, Tensor& out) {
  check_matrix("linalg.cond", self);
  if (self.numel() > 0) return false;
  out = zeros(batch_sizes(self), real_dtype(self.dtype()), self.device());
  return true;
}

}  // namespace

Tensor linalg_cond_uncast(const Tensor& self, const std::optional<Scalar>& p) {
  Tensor out;
  check_matrix("linalg.cond", self);
  check_inexact("linalg.cond", self);
  if (empty_condition(self, out)) return out;
  const double order = p ? p->to_double() : 2;
  if (std::abs(order) == 2) {
    Tensor s = linalg_svdvals(self, std::nullopt);
    Tensor largest = narrow(s, -1, 0, 1), smallest = narrow(s, -1, s.size(-1) - 1, 1);
    return squeeze_dim(order < 0 ? smallest / largest : largest / smallest, -1);
  }
  check(std::abs(order) == 1 || std::isinf(order), "linalg.cond got an invalid norm type: ", order,
        "; expected 1, -1, 2, -2, inf, -inf, 'fro' or 'nuc'");
  return condition_by_inverse(self, [&](const Tensor& a) {
    return linalg_matrix_norm(a, Scalar(order), Dims{-2, -1}, false, std::nullopt);
  });
}

Tensor linalg_cond_p_str_uncast(const Tensor& self, const std::string& p) {
  check(p == "fro" || p == "nuc", "linalg.cond got an invalid norm type: ", p,
        "; expected 1, -1, 2, -2, inf, -inf, 'fro' or 'nuc'");
  check_square("linalg.cond", self);
  Tensor out;
  if (empty_condition(self, out)) return out;
  if (p == "nuc") {  // the inverse's singular values are the reciprocals
    Tensor s = linalg_svdvals(self, std::nullopt);
    return sum_dim(s, Dims{-1}, false, std::nullopt) *
           sum_dim(reciprocal(s), Dims{-1}, false, std::nullopt);
  }
  return condition_by_inverse(self, [&](const Tensor& a) {
    return linalg_matrix_norm_str_ord(a, p, Dims{-2, -1}, false, std::nullopt);
  });
}

// ---- powers

Tensor linalg_matrix_power(const Tensor& self, int64_t n) {
  check_square("linalg.matrix_power", self);
  if (n == 0) {
    Tensor one = eye(self.size(-1), std::nullopt, self.dtype(), self.device());
    // a copy over `self` keeps it in the graph, with a gradient of zero
    return copy_(clone(self, MemoryFormat::Contiguous), one, false);
  }
  if (n == 1) return clone(self, std::nullopt);
  Tensor base = self;
  if (n < 0) {
    check_inexact("linalg.matrix_power", self);
    base = linalg_inv(self);
    if (n == -1) return base;
  }
  uint64_t left = n < 0 ? uint64_t(0) - uint64_t(n) : uint64_t(n);
  Tensor out;
  while (true) {
    if (left & 1) out = out.defined() ? matmul(out, base) : base;
    left >>= 1;
    if (!left) return out;
    base = matmul(base, base);
  }
}

Tensor linalg_vander(const Tensor& x, std::optional<int64_t> N) {
  const int64_t n = N.value_or(x.dim() ? x.size(-1) : 1);
  check(n > 1, "N must be greater than 1.");
  Tensor t = x.dtype() == DType::Bool || is_integral(x.dtype()) ? _to_dtype(x, DType::Int64) : x;
  Tensor column = unsqueeze(x.dim() ? t : unsqueeze(t, 0), -1);
  Dims wide = column.sizes();
  wide.back() = n - 1;
  Tensor powers = cumprod(expand(column, wide, false), -1, std::nullopt);
  return cat({ones(column.sizes(), t.dtype(), t.device()), powers}, -1);
}

// ---- tensors as linear maps

Tensor linalg_tensorinv_uncast(const Tensor& self, int64_t ind) {
  check(ind > 0, "Expected a strictly positive integer for 'ind', got ", ind);
  IntSpan sizes(self.sizes());
  const auto cut = size_t(std::min<int64_t>(ind, self.dim()));
  IntSpan first = sizes.first(cut), last = sizes.subspan(cut);
  const int64_t rows = product(first), columns = product(last);
  check(rows == columns,
        "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
        "prod(self.shape[:ind]), but got ",
        columns, " != ", rows);
  Dims shape(last);
  for (int64_t n : first) shape.push_back(n);
  return reshape(linalg_inv(reshape(self, Dims{rows, columns})), shape);
}

Tensor linalg_tensorsolve_uncast(const Tensor& self, const Tensor& other,
                                 const std::optional<Dims>& dims) {
  Tensor a = self;
  if (dims) {
    Dims ends;
    for (size_t i = 0; i < dims->size(); i++)
      ends.push_back(self.dim() - int64_t(dims->size()) + int64_t(i));
    a = movedim(self, *dims, ends);
  }
  check(other.dim() <= a.dim(), "linalg.tensorsolve: other has more dimensions (", other.dim(),
        ") than self (", a.dim(), ")");
  Dims shape(IntSpan(a.sizes()).subspan(size_t(other.dim())));
  const int64_t columns = product(shape), rows = other.numel();
  check(rows == columns && a.numel() == rows * columns,
        "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
        "prod(self.shape[:other.ndim]), but got ",
        columns, " != ", rows ? a.numel() / std::max<int64_t>(columns, 1) : 0);
  return reshape(linalg_solve(reshape(a, Dims{rows, columns}), flatten(other), true), shape);
}

}  // namespace flambeau::ops
