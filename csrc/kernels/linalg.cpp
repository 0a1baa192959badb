// Cholesky, LU and LDL factorisations, solvers on them, inverse and determinant.
#include "kernels/linalg.h"

#include <cblas.h>

#include <cmath>

#include "kernels/pointwise.h"
#include "ops/all.h"

namespace flambeau::kernels {
using namespace linalg;

namespace {

template <class T>
T* matrix_at(const Tensor& a, int64_t i) {
  return a.data<T>() + i * a.size(-1) * a.size(-2);
}

Tensor empty_info(const Dims& sizes, Device device) {
  return filled(sizes, DType::Int32, device, 0);
}

template <class T>
T conjugate(T v) {
  if constexpr (kComplex<T>)
    return std::conj(v);
  else
    return v;
}

// Zeroes what lies outside of the triangle.
template <class T>
void keep_triangle(T* a, int64_t m, int64_t n, bool upper) {
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = upper ? j + 1 : 0; i < (upper ? m : std::min(j, m)); i++) a[i + j * m] = T(0);
}

std::tuple<Tensor, Tensor> cholesky_factor(const char* op, const Tensor& self, bool upper) {
  check_square(op, self);
  check_inexact(op, self);
  Tensor factor = column_copy(self), info = empty_info(batch_sizes(self), self.device());
  if (factor.is_meta()) return {factor, info};
  const int64_t n = self.size(-1);
  visit_lapack(self.dtype(), "cholesky_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (factor.numel() == 0) return;
    each_matrix(info.numel(), cube(n) / 3, [&](int64_t i) {
      T* a = matrix_at<T>(factor, i);
      int status = no_usage_error("potrf", potrf<T>(upper ? 'U' : 'L', to_int(n), a, to_int(n)));
      // OpenBLAS takes NaN and infinity for positive pivots
      for (int64_t k = 0; k < n && status == 0; k++)
        if (!std::isfinite(std::real(a[k * (n + 1)]))) status = int(k) + 1;
      info.data<int32_t>()[i] = status;
      keep_triangle(a, n, n, upper);
    });
  });
  return {factor, info};
}

}  // namespace

// ---- Cholesky

std::tuple<Tensor, Tensor> linalg_cholesky_ex(const Tensor& self, bool upper, bool check_errors) {
  auto out = cholesky_factor("linalg.cholesky", self, upper);
  check_info("linalg.cholesky_ex", std::get<1>(out), Failure::NotPositive, !check_errors);
  return out;
}

Tensor cholesky(const Tensor& self, bool upper) {
  auto [factor, info] = cholesky_factor("cholesky", self, upper);
  check_info("cholesky", info, Failure::NotPositive);
  return factor;
}

Tensor cholesky_inverse(const Tensor& self, bool upper) {
  check_square("cholesky_inverse", self);
  Tensor out = column_copy(self), info = empty_info(batch_sizes(self), self.device());
  if (out.is_meta()) return out;
  const int64_t n = self.size(-1);
  visit_lapack(self.dtype(), "cholesky_inverse_out_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (out.numel() == 0) return;
    each_matrix(info.numel(), cube(n) * 2 / 3, [&](int64_t i) {
      T* a = matrix_at<T>(out, i);
      info.data<int32_t>()[i] =
          no_usage_error("potri", potri<T>(upper ? 'U' : 'L', to_int(n), a, to_int(n)));
      for (int64_t j = 0; j < n; j++)
        for (int64_t k = 0; k < j; k++) {
          T &above = a[k + j * n], &below = a[j + k * n];
          (upper ? below : above) = conjugate(upper ? above : below);
        }
    });
  });
  check_info("cholesky_inverse", info, Failure::SingularInverse);
  return out;
}

Tensor cholesky_solve(const Tensor& self, const Tensor& input2, bool upper) {
  check_matrix("cholesky_solve", self, "b");
  check_square("cholesky_solve", input2, "u");
  check(self.size(-2) == input2.size(-1), "cholesky_solve: Incompatible matrix sizes: each A is ",
        input2.size(-1), " by ", input2.size(-1), " but each b has ", self.size(-2), " rows");
  check_same("cholesky_solve", input2, self, "b");
  const int64_t n = input2.size(-1), columns = self.size(-1);
  Dims batch = joined_batch(self, input2);
  Tensor out = column_copy(self, appended(batch, {n, columns}));
  if (out.is_meta()) return out;
  Tensor factor = column_copy(input2, appended(batch, {n, n}));
  visit_lapack(self.dtype(), "cholesky_solve_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (out.numel() == 0) return;
    each_matrix(product(batch), 2.0 * double(n) * double(n) * double(columns), [&](int64_t i) {
      no_usage_error(
          "potrs", potrs<T>(upper ? 'U' : 'L', to_int(n), to_int(columns), matrix_at<T>(factor, i),
                            to_int(n), matrix_at<T>(out, i), to_int(n)));
    });
  });
  return out;
}

// ---- LU

namespace {

struct Factored {
  Tensor lu, pivots, info;
};

Factored lu_factored(const char* op, const Tensor& a) {
  const int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
  Dims batch = batch_sizes(a);
  Factored out{column_copy(a), empty(appended(batch, {k}), DType::Int32, a.device()),
               empty_info(batch, a.device())};
  if (a.is_meta()) return out;
  visit_lapack(a.dtype(), op, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (k == 0) return;
    each_matrix(product(batch), double(m) * double(n) * double(k), [&](int64_t i) {
      out.info.data<int32_t>()[i] =
          no_usage_error("getrf", getrf<T>(to_int(m), to_int(n), matrix_at<T>(out.lu, i), to_int(m),
                                           out.pivots.data<int32_t>() + i * k));
    });
  });
  return out;
}

void check_pivoting(bool pivot) {
  check(pivot, "linalg.lu_factor: LU without pivoting is not implemented on the CPU");
}

// B := A⁻¹B, A⁻ᵀB or A⁻ᴴB for dense columns, from A's factors.
void solve_factored(const Tensor& lu, const Tensor& pivots, const Tensor& b, char trans) {
  const int64_t n = lu.size(-1), columns = b.size(-1);
  if (b.numel() == 0) return;
  visit_lapack(lu.dtype(), "linalg_lu_solve_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    each_matrix(batch_count(b), 2.0 * double(n) * double(n) * double(columns), [&](int64_t i) {
      no_usage_error("getrs",
                     getrs<T>(trans, to_int(n), to_int(columns), matrix_at<T>(lu, i), to_int(n),
                              pivots.data<int32_t>() + i * n, matrix_at<T>(b, i), to_int(n)));
    });
  });
}

Tensor swapped(const Tensor& a) { return transpose(a, -2, -1); }

}  // namespace

std::tuple<Tensor, Tensor, Tensor> linalg_lu_factor_ex(const Tensor& A, bool pivot,
                                                       bool check_errors) {
  check_matrix("linalg.lu_factor", A);
  check_pivoting(pivot);
  Factored out = lu_factored("lu_factor_cpu", A);
  check_info("linalg.lu_factor_ex", out.info, Failure::ZeroPivot, !check_errors);
  return {out.lu, out.pivots, out.info};
}

std::tuple<Tensor, Tensor, Tensor> lu_unpack(const Tensor& LU_data, const Tensor& LU_pivots,
                                             bool unpack_data, bool unpack_pivots) {
  check_matrix("lu_unpack", LU_data, "LU_data");
  const int64_t m = LU_data.size(-2), n = LU_data.size(-1), k = std::min(m, n);
  Dims batch = batch_sizes(LU_data);
  const DType t = LU_data.dtype();
  const Device device = LU_data.device();
  Tensor p = empty(Dims{0}, t, device), l = p, u = p;
  if (unpack_data) {
    l = empty(appended(batch, {m, k}), t, device);
    u = empty(appended(batch, {k, n}), t, device);
  }
  if (unpack_pivots) {
    check_pivots("lu_unpack", LU_pivots, LU_data, m);
    p = filled(appended(batch, {m, m}), t, device, 0);
  }
  if (LU_data.is_meta()) return {p, l, u};
  Tensor dense = contiguous_of(LU_data);
  Tensor exchanges = unpack_pivots ? contiguous_of(LU_pivots) : Tensor();
  visit_lapack(t, "lu_unpack_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    each_matrix(product(batch), double(m) * double(std::max(m, n)), [&](int64_t b) {
      const T* a = matrix_at<T>(dense, b);
      if (unpack_data) {
        T *pl = matrix_at<T>(l, b), *pu = matrix_at<T>(u, b);
        for (int64_t i = 0; i < m; i++)
          for (int64_t j = 0; j < k; j++)
            pl[i * k + j] = i > j ? a[i * n + j] : i == j ? T(1) : T(0);
        for (int64_t i = 0; i < k; i++)
          for (int64_t j = 0; j < n; j++) pu[i * n + j] = i <= j ? a[i * n + j] : T(0);
      }
      if (unpack_pivots) {
        std::vector<int64_t> row(static_cast<size_t>(m));
        for (int64_t i = 0; i < m; i++) row[size_t(i)] = i;
        const auto* exchange = exchanges.data<int32_t>() + b * k;
        for (int64_t i = 0; i < k; i++) std::swap(row[size_t(i)], row[size_t(exchange[i] - 1)]);
        for (int64_t i = 0; i < m; i++) matrix_at<T>(p, b)[row[size_t(i)] * m + i] = T(1);
      }
    });
  });
  return {p, l, u};
}

std::tuple<Tensor, Tensor, Tensor> linalg_lu(const Tensor& A, bool pivot) {
  check_matrix("linalg.lu", A);
  check_pivoting(pivot);
  Factored f = lu_factored("linalg_lu_cpu", A);
  return lu_unpack(f.lu, f.pivots, true, true);
}

Tensor linalg_lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left,
                       bool adjoint) {
  check_square("torch.linalg.lu_solve", LU, "LU");
  check_matrix("torch.linalg.lu_solve", B, "B");
  check_inexact("torch.linalg.lu_solve", LU);
  check_same("linalg.lu_solve", LU, B, "B");
  const int64_t n = LU.size(-1);
  check(B.size(left ? -2 : -1) == n,
        "linalg.lu_solve: Incompatible shapes of A and B for the equation ",
        left ? "AX = B" : "XA = B", ": (", n, "x", n, " and ", B.size(-2), "x", B.size(-1), ")");
  check_pivots("linalg.lu_solve", pivots, LU, n);
  Dims batch = joined_batch(LU, B);
  Tensor x = left ? B : swapped(B);
  Tensor out = column_copy(x, appended(batch, {n, x.size(-1)}));
  if (out.is_meta()) return left ? out : swapped(out);
  Tensor lu = column_copy(LU, appended(batch, {n, n}));
  Tensor p = contiguous_of(expand(pivots, appended(batch, {n}), false));
  // X Aᴴ = B is conj(A) Xᵀ = Bᵀ
  const bool conjugated = !left && adjoint && B.is_complex();
  if (conjugated) out = column_copy(ops::conj(out));
  solve_factored(lu, p, out, left ? (adjoint ? 'C' : 'N') : (adjoint ? 'N' : 'T'));
  if (conjugated) out = column_copy(ops::conj(out));
  return left ? out : swapped(out);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> _linalg_solve_ex(const Tensor& A, const Tensor& B,
                                                            bool left, bool check_errors) {
  check_square("linalg.solve", A);
  check_inexact("linalg.solve", A);
  check_same("linalg.solve", A, B, "B");
  const bool vector = is_vector_case(A, B);
  check(!vector || left,
        "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False; "
        "divide: B / A.squeeze(-1)");
  Tensor b = vector ? unsqueeze(B, -1) : B;
  check_matrix("linalg.solve", b, "B");
  const int64_t n = A.size(-1);
  check(b.size(left ? -2 : -1) == n,
        "linalg.solve: Incompatible shapes of A and B for the equation ",
        left ? "AX = B" : "XA = B", ": (", n, "x", n, " and ", b.size(-2), "x", b.size(-1), ")");
  Factored f = lu_factored("linalg_solve_cpu", A);
  Dims batch = joined_batch(A, b);
  Tensor columns = left ? b : swapped(b);
  Tensor x = column_copy(columns, appended(batch, {n, columns.size(-1)}));
  if (!x.is_meta()) {
    const bool same = equal(batch, batch_sizes(A));
    Tensor lu = same ? f.lu : column_copy(f.lu, appended(batch, {n, n}));
    Tensor p = same ? f.pivots : contiguous_of(expand(f.pivots, appended(batch, {n}), false));
    solve_factored(lu, p, x, left ? 'N' : 'T');
  }
  check_info("linalg.solve_ex", f.info, Failure::SingularSolve, !check_errors);
  Tensor out = left ? x : swapped(x);
  if (vector) {  // PyTorch lays out a batch of vectors like one matrix
    out = column_copy(squeeze_dim(out, -1));
  }
  return {out, f.lu, f.pivots, f.info};
}

std::tuple<Tensor, Tensor> linalg_inv_ex(const Tensor& A, bool check_errors) {
  check_square("linalg.inv", A);
  check_inexact("linalg.inv", A, false);
  Factored f = lu_factored("linalg_inv_ex_cpu", A);
  const int64_t n = A.size(-1);
  if (!A.is_meta() && A.numel() > 0)
    visit_lapack(A.dtype(), "linalg_inv_ex_cpu", [&](auto tag) {
      using T = typename decltype(tag)::type;
      each_matrix(batch_count(A), cube(n), [&](int64_t i) {
        if (f.info.data<int32_t>()[i] == 0)
          no_usage_error("getri", getri<T>(to_int(n), matrix_at<T>(f.lu, i), to_int(n),
                                           f.pivots.data<int32_t>() + i * n));
      });
    });
  check_info("linalg.inv_ex", f.info, Failure::SingularInverse, !check_errors);
  return {f.lu, f.info};
}

namespace {

// f(i, diagonal, step, sign of the exchanges) for each factored square matrix.
template <class F>
void each_diagonal(const Factored& f, F&& each) {
  const int64_t n = f.lu.size(-1);
  visit_lapack(f.lu.dtype(), "lu_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < f.info.numel(); i++) {
      bool odd = false;
      const auto* p = f.pivots.data<int32_t>() + i * n;
      for (int64_t k = 0; k < n; k++) odd ^= p[k] != k + 1;
      each(i, matrix_at<T>(f.lu, i), n + 1, odd);
    }
  });
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> _linalg_det(const Tensor& A) {
  check_square("linalg.det", A);
  check_inexact("linalg.det", A);
  Factored f = lu_factored("lu_cpu", A);
  Tensor out = empty(batch_sizes(A), A.dtype(), A.device());
  if (!A.is_meta())
    each_diagonal(f, [&](int64_t i, auto* diagonal, int64_t step, bool odd) {
      using T = std::remove_pointer_t<decltype(diagonal)>;
      T value(1);
      for (int64_t k = 0; k < A.size(-1); k++) value *= diagonal[k * step];
      out.data<T>()[i] = odd ? -value : value;
    });
  return {out, f.lu, f.pivots};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> _linalg_slogdet(const Tensor& A) {
  check_square("linalg.slogdet", A);
  check_inexact("linalg.slogdet", A, false);
  Factored f = lu_factored("lu_cpu", A);
  Tensor sign = empty(batch_sizes(A), A.dtype(), A.device()),
         size = empty(batch_sizes(A), real_dtype(A.dtype()), A.device());
  if (!A.is_meta())
    each_diagonal(f, [&](int64_t i, auto* diagonal, int64_t step, bool odd) {
      using T = std::remove_pointer_t<decltype(diagonal)>;
      T s(odd ? -1 : 1);
      Real<T> log = 0;
      for (int64_t k = 0; k < A.size(-1); k++) {
        const T d = diagonal[k * step];
        const Real<T> a = std::abs(d);
        s *= a == 0 ? T(0) : d / a;
        log += std::log(a);
      }
      sign.data<T>()[i] = s;
      size.data<Real<T>>()[i] = log;
    });
  return {sign, size, f.lu, f.pivots};
}

// ---- triangular systems

namespace {

// B := op(A)⁻¹ B or B op(A)⁻¹, all by columns.
template <class T>
void trsm(bool left, bool upper, CBLAS_TRANSPOSE trans, bool unit, int64_t m, int64_t n, const T* a,
          int64_t lda, T* b) {
  const auto side = left ? CblasLeft : CblasRight;
  const auto uplo = upper ? CblasUpper : CblasLower;
  const auto diag = unit ? CblasUnit : CblasNonUnit;
  const blasint M = to_int(m), N = to_int(n), LDA = to_int(std::max<int64_t>(lda, 1)), LDB = M;
  const T one(1);
  if constexpr (std::is_same_v<T, float>)
    scipy_cblas_strsm(CblasColMajor, side, uplo, trans, diag, M, N, one, a, LDA, b, LDB);
  else if constexpr (std::is_same_v<T, double>)
    scipy_cblas_dtrsm(CblasColMajor, side, uplo, trans, diag, M, N, one, a, LDA, b, LDB);
  else if constexpr (std::is_same_v<T, complex64_t>)
    scipy_cblas_ctrsm(CblasColMajor, side, uplo, trans, diag, M, N, &one, a, LDA, b, LDB);
  else
    scipy_cblas_ztrsm(CblasColMajor, side, uplo, trans, diag, M, N, &one, a, LDA, b, LDB);
}

void solve_in_place(const char* what, const Tensor& a, const Tensor& x, bool left, bool upper,
                    bool transposed, bool unit) {
  const int64_t m = x.size(-2), n = x.size(-1), k = a.size(-1);
  visit_lapack(x.dtype(), what, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (x.numel() == 0) return;
    each_matrix(batch_count(x), double(m) * double(n) * double(k), [&](int64_t i) {
      trsm<T>(left, upper, transposed ? CblasTrans : CblasNoTrans, unit, m, n, matrix_at<T>(a, i),
              k, matrix_at<T>(x, i));
    });
  });
}

}  // namespace

Tensor linalg_solve_triangular(const Tensor& self, const Tensor& B, bool upper, bool left,
                               bool unitriangular) {
  check_square("linalg.solve_triangular", self);
  check_matrix("linalg.solve_triangular", B, "B");
  check_same("linalg.solve_triangular", self, B, "B");
  const int64_t n = self.size(-1);
  check(B.size(left ? -2 : -1) == n,
        "linalg.solve_triangular: Incompatible shapes of A and B for the equation ",
        left ? "AX = B" : "XA = B", ": (", n, "x", n, " and ", B.size(-2), "x", B.size(-1), ")");
  Dims batch = joined_batch(self, B);
  Tensor out = column_copy(B, appended(batch, {B.size(-2), B.size(-1)}));
  if (out.is_meta()) return out;
  Tensor a = column_copy(self, appended(batch, {n, n}));
  solve_in_place("triangular_solve_cpu", a, out, left, upper, false, unitriangular);
  return out;
}

std::tuple<Tensor, Tensor> triangular_solve(const Tensor& self, const Tensor& A, bool upper,
                                            bool transpose, bool unitriangular) {
  check(self.dim() >= 2,
        "torch.triangular_solve: Expected b to have at least 2 dimensions, but it has ", self.dim(),
        " dimensions instead");
  check(A.dim() >= 2,
        "torch.triangular_solve: Expected A to have at least 2 dimensions, but it has ", A.dim(),
        " dimensions instead");
  check_square("triangular_solve", A);
  check_same("triangular_solve", A, self, "b");
  check(self.size(-2) == A.size(-1), "triangular_solve: Incompatible matrix sizes: each A is ",
        A.size(-1), " by ", A.size(-1), " but each b has ", self.size(-2), " rows");
  const int64_t n = A.size(-1);
  Dims batch = joined_batch(self, A);
  Tensor out = column_copy(self, appended(batch, {n, self.size(-1)})),
         a = column_copy(A, appended(batch, {n, n}));
  if (!out.is_meta())
    solve_in_place("triangular_solve_cpu", a, out, true, upper, transpose, unitriangular);
  return {out, a};
}

// ---- LDL

namespace {

template <class T>
lapack_int ldl_factor(bool hermitian, lapack_int n, T* a, lapack_int* pivots) {
  if constexpr (kComplex<T>) {
    if (hermitian) {
      if constexpr (std::is_same_v<T, complex64_t>)
        return scipy_LAPACKE_chetrf(LAPACK_COL_MAJOR, 'L', n, a, n, pivots);
      else
        return scipy_LAPACKE_zhetrf(LAPACK_COL_MAJOR, 'L', n, a, n, pivots);
    }
  }
  return sytrf<T>('L', n, a, n, pivots);
}

template <class T>
lapack_int ldl_apply(bool hermitian, lapack_int n, lapack_int columns, const T* a,
                     const lapack_int* pivots, T* b) {
  if constexpr (kComplex<T>) {
    if (hermitian) {
      if constexpr (std::is_same_v<T, complex64_t>)
        return scipy_LAPACKE_chetrs(LAPACK_COL_MAJOR, 'L', n, columns, a, n, pivots, b, n);
      else
        return scipy_LAPACKE_zhetrs(LAPACK_COL_MAJOR, 'L', n, columns, a, n, pivots, b, n);
    }
  }
  return sytrs<T>('L', n, columns, a, n, pivots, b, n);
}

// Row exchanges of the LDL decomposition: k+1-based rows, negative pairs for 2 by 2 blocks.
void check_ldl_pivots(const Tensor& pivots, const Tensor& matrix) {
  const int64_t n = matrix.size(-1);
  check(pivots.dtype() == DType::Int32,
        "torch.linalg.ldl_solve: Expected pivots to be of dtype torch.int32, got ", pivots.dtype());
  check(equal(pivots.sizes(), appended(batch_sizes(matrix), {n})),
        "torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but got "
        "pivots with shape ",
        pivots.sizes(), " for LD of shape ", matrix.sizes());
  if (pivots.is_meta()) return;
  Tensor dense = contiguous_of(pivots);
  for (int64_t b = 0; b < (n ? dense.numel() / n : 0); b++) {
    const auto* p = dense.data<int32_t>() + b * n;
    for (int64_t k = 0; k < n; k++) {
      const int64_t v = p[k];
      bool good = v != 0 && std::abs(v) <= n;
      if (v < 0) {
        good = good && k + 1 < n && p[k + 1] < 0 && -int64_t(p[k + 1]) <= n;
        k++;
      }
      check(good, "torch.linalg.ldl_solve: pivots are not those of an LDL decomposition");
    }
  }
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> linalg_ldl_factor_ex(const Tensor& self, bool hermitian,
                                                        bool check_errors) {
  check_square("torch.linalg.ldl_factor_ex", self);
  check_inexact("torch.linalg.ldl_factor_ex", self);
  const int64_t n = self.size(-1);
  Tensor ld = column_copy(self),
         pivots = empty(appended(batch_sizes(self), {n}), DType::Int32, self.device()),
         info = empty_info(batch_sizes(self), self.device());
  if (ld.is_meta()) return {ld, pivots, info};
  visit_lapack(self.dtype(), "ldl_factor_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (ld.numel() == 0) return;
    each_matrix(info.numel(), cube(n) / 3, [&](int64_t i) {
      T* a = matrix_at<T>(ld, i);
      keep_triangle(a, n, n, false);
      info.data<int32_t>()[i] = no_usage_error(
          "sytrf", ldl_factor<T>(hermitian, to_int(n), a, pivots.data<int32_t>() + i * n));
    });
  });
  check_info("torch.linalg.ldl_factor_ex", info, Failure::Ldl, !check_errors);
  return {ld, pivots, info};
}

Tensor linalg_ldl_solve(const Tensor& LD, const Tensor& pivots, const Tensor& B, bool hermitian) {
  check_square("torch.linalg.ldl_solve", LD, "LD");
  check_inexact("torch.linalg.ldl_solve", LD);
  check(B.dim() >= 2,
        "torch.linalg.ldl_solve: Expected B to have at least 2 dimensions, but it has ", B.dim(),
        " dimensions instead");
  check_same("torch.linalg.ldl_solve", LD, B, "B");
  const int64_t n = LD.size(-1);
  check(B.size(-2) == n, "torch.linalg.ldl_solve: Incompatible matrix sizes: each LD is ", n,
        " by ", n, " but each B has ", B.size(-2), " rows");
  check_ldl_pivots(pivots, LD);
  Dims batch = joined_batch(LD, B);
  Tensor out = column_copy(B, appended(batch, {n, B.size(-1)}));
  if (out.is_meta()) return out;
  Tensor ld = column_copy(LD, appended(batch, {n, n}));
  Tensor p = contiguous_of(expand(pivots, appended(batch, {n}), false));
  visit_lapack(B.dtype(), "ldl_solve_cpu", [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (out.numel() == 0) return;
    const int64_t columns = B.size(-1);
    each_matrix(product(batch), 2.0 * double(n) * double(n) * double(columns), [&](int64_t i) {
      no_usage_error("sytrs",
                     ldl_apply<T>(hermitian, to_int(n), to_int(columns), matrix_at<T>(ld, i),
                                  p.data<int32_t>() + i * n, matrix_at<T>(out, i)));
    });
  });
  return out;
}

}  // namespace flambeau::kernels
