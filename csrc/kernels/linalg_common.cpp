// Layout and argument checks of the LAPACK kernels.
#include "kernels/linalg.h"

#include "core/transform.h"
#include "kernels/pointwise.h"
#include "ops/all.h"

namespace flambeau::linalg {

namespace {
// LAPACKE would look through every argument for NaN and call it a wrong argument.
[[maybe_unused]] const bool nancheck_off = (scipy_LAPACKE_set_nancheck(0), true);
}  // namespace

Dims column_strides(IntSpan sizes) {
  Dims strides = contiguous_strides(sizes);
  if (sizes.size() < 2) return strides;
  const size_t n = sizes.size();
  strides[n - 2] = 1;
  strides[n - 1] = std::max<int64_t>(sizes[n - 2], 1);
  return strides;
}

Tensor empty_columns(IntSpan sizes, DType dtype, Device device) {
  return empty_strided(sizes, column_strides(sizes), dtype, device);
}

Tensor column_copy(const Tensor& a) {
  Tensor out = empty_columns(a.sizes(), a.dtype(), a.device());
  if (!out.is_meta()) copy_kernel(out, a);
  return out;
}

Tensor column_copy(const Tensor& a, const Dims& sizes) {
  return column_copy(equal(a.sizes(), sizes) ? a : kernels::expand(a, sizes, false));
}

Tensor filled(IntSpan sizes, DType dtype, Device device, const Scalar& value) {
  Tensor out = empty(sizes, dtype, device);
  if (!out.is_meta()) fill_kernel(out, value);
  return out;
}

void check_matrix(const char* op, const Tensor& a, const char* name) {
  check(a.dim() >= 2, op, ": The input tensor ", name,
        " must have at least 2 dimensions, got shape ", a.sizes());
}

void check_square(const char* op, const Tensor& a, const char* name) {
  check_matrix(op, a, name);
  check(a.size(-1) == a.size(-2), op, ": ", name,
        " must be batches of square matrices, but they are ", a.size(-2), " by ", a.size(-1),
        " matrices");
}

void check_inexact(const char* op, const Tensor& a, bool low_precision) {
  check(is_differentiable(a.dtype()), op,
        ": Expected a floating point or complex tensor as input. Got ", a.dtype());
  check(low_precision || (a.dtype() != DType::Float16 && a.dtype() != DType::BFloat16), op,
        ": Low precision dtypes not supported. Got ", a.dtype());
}

void check_same(const char* op, const Tensor& a, const Tensor& b, const char* name_b) {
  check(a.dtype() == b.dtype(), op, ": Expected A and ", name_b,
        " to have the same dtype, but A is ", a.dtype(), " and ", name_b, " is ", b.dtype());
}

lapack_int to_int(int64_t n) {
  check(n < INT32_MAX, "linalg: matrices of more than 2^31 rows or columns are not supported");
  return lapack_int(n);
}

// LAPACK applies row exchanges without looking: a wrong one would write outside of the matrix.
void check_pivots(const char* op, const Tensor& pivots, const Tensor& matrix, int64_t n) {
  const int64_t k = std::min(matrix.size(-1), matrix.size(-2));
  check(pivots.dtype() == DType::Int32, op,
        ": pivots are expected to be of dtype torch.int32, got ", pivots.dtype());
  Dims sizes = appended(batch_sizes(matrix), {k});
  check(equal(pivots.sizes(), sizes), op, ": expected pivots of shape ", sizes,
        " for matrices of shape ", matrix.sizes(), ", got ", pivots.sizes());
  if (pivots.is_meta()) return;
  Tensor dense = contiguous_of(pivots);
  const auto* p = dense.data<int32_t>();
  for (int64_t i = 0; i < dense.numel(); i++)
    check(p[i] >= 1 && p[i] <= n, op, ": pivots must lie between 1 and ", n, ", got ", p[i]);
}

bool is_vector_case(const Tensor& a, const Tensor& b) {
  return b.dim() == 1 || (a.dim() - 1 == b.dim() &&
                          equal(b.sizes(), IntSpan(a.sizes()).first(size_t(a.dim() - 1))));
}

Dims joined_batch(const Tensor& a, const Tensor& b) {
  return broadcast_shapes(batch_sizes(a), batch_sizes(b));
}

namespace {

std::string explain(Failure kind, int32_t code) {
  switch (kind) {
    case Failure::NotPositive:
      return cat_text("the input is not positive-definite: the leading minor of order ", code,
                      " is not positive-definite");
    case Failure::SingularInverse:
      return cat_text("The diagonal element ", code,
                      " is zero: the input matrix is singular and has no inverse");
    case Failure::SingularSolve:
      return "The solver failed because the input matrix is singular";
    case Failure::ZeroPivot:
      return cat_text(
          "U[", code, ",", code,
          "] is zero, so lu_solve would divide by zero; linalg.lu or linalg.lu_factor_ex "
          "give the factors all the same");
    case Failure::Eigen:
      return cat_text(
          "The algorithm failed to converge: the input matrix is ill-conditioned, has too many "
          "repeated eigenvalues or is not finite (error code: ",
          code, ")");
    case Failure::Svd:
      if (code < 0)
        return "The algorithm failed to converge because the input matrix contained non-finite "
               "values";
      return cat_text(
          "The algorithm failed to converge because the input matrix is ill-conditioned or has too "
          "many repeated singular values (error code: ",
          code, ")");
    case Failure::Rank:
      return cat_text("the input matrix does not have full rank (error code: ", code,
                      "); the drivers gelsy, gelsd and gelss allow for that");
    case Failure::Ldl:
      return cat_text("D[", code, ",", code, "] is zero, so ldl_solve would divide by zero");
  }
  return "";
}

}  // namespace

void check_info(const char* op, const Tensor& given, Failure kind, bool ignore) {
  Tensor info = given;
  while (is_transform(info)) info = record_of(info).value;  // of a batch: all of it
  if (ignore || info.is_meta()) return;
  Tensor dense = contiguous_of(info);
  const auto* code = dense.data<int32_t>();
  for (int64_t i = 0; i < dense.numel(); i++) {
    if (code[i] == 0) continue;
    std::string text = cat_text(op, ": ");
    if (info.dim() > 0) text += cat_text("(Batch element ", i, "): ");
    text += explain(kind, code[i]);
    // singular matrices have an LU decomposition: PyTorch calls this no failure of linear algebra
    if (kind == Failure::ZeroPivot) fail(text);
    fail<LinAlgError>(text);
  }
}

}  // namespace flambeau::linalg
