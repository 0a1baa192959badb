// Derivatives of factorisations and solvers. A gradient here is the conjugate Wirtinger derivative:
// the loss changes by Re tr(Gᴴ dA).
//
// Giles, "An extended collection of matrix derivative results for forward and reverse mode
//   algorithmic differentiation", 2008: inverse, determinant, Cholesky, eigenvalues, SVD.
// Murray, "Differentiation of the Cholesky decomposition", 2016.
// Seeger et al., "Auto-differentiating linear algebra", 2017: LQ (QR), symmetric eigenvalues, SVD.
// Walter, Lehmann, "Algorithmic differentiation of linear algebra functions with application in
//   optimum experimental design", 2010, and Roberts, Roberts, "QR and LQ decomposition matrix
//   backpropagation algorithms for square, wide, and deep matrices", 2020: QR.
// Wan, Zhang, "Automatic differentiation for complex valued SVD", 2019.
// Boeddeker et al., "On the computation of complex-valued gradients", 2017: general eigenvalues.
// Golub, Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems
//   whose variables separate", 1973.
// Najfeld, Havel, "Derivatives of the matrix exponential and their computation", 1995.
#include <cmath>

#include "autograd/formulas.h"
#include "core/transform.h"
#include "kernels/linalg.h"

namespace flambeau::formulas {
using namespace ops;
using linalg::batch_sizes;

namespace {

Tensor diagonal_of(const Tensor& a) { return diagonal(a, 0, -2, -1); }
Tensor diagonal_matrix(const Tensor& d) { return diag_embed(d, 0, -2, -1); }
Tensor real_part(const Tensor& a) { return a.is_complex() ? real(a) : a; }
Tensor zeros_of(const Tensor& a) { return zeros(a.sizes(), a.dtype(), a.device()); }
// All but the diagonal.
Tensor off_diagonal(const Tensor& a) { return a - diagonal_matrix(diagonal_of(a)); }
// A + Aᴴ with half of the diagonal, which is real: the adjoint of taking a Hermitian matrix's upper
// triangle.
Tensor hermitian_of_triangle(const Tensor& a) {
  Tensor d = real_part(diagonal_of(a));
  return a + mH(a) - diagonal_matrix(a.is_complex() ? _to_dtype(d, a.dtype()) : d);
}
// Adds where something is there already.
void accumulate_into(Tensor& sum, const Tensor& t) { sum = sum.defined() ? sum + t : t; }
Tensor solve_triangle(const Tensor& a, const Tensor& b, bool upper, bool left = true,
                      bool unit = false) {
  return linalg_solve_triangular(a, b, upper, left, unit);
}
Tensor narrow_to(const Tensor& t, int64_t dim, int64_t n) {
  return t.defined() && t.size(dim) != n ? narrow(t, dim, 0, n) : t;
}

// A loss that depends on what the decomposition leaves open has no derivative.
void check_gauge(const char* op, const Tensor& imaginary, const Tensor& scale) {
  NoGrad off;
  if (!has_values(imaginary) || imaginary.numel() == 0) return;
  Tensor bound = clamp_min(abs(scale), 1) * 1e-2;
  check(item(all(logical_or(le(abs(imaginary), bound), isnan(imaginary)))).to_bool(), op,
        ": the vectors of a complex matrix are determined up to a factor e^(i phi) only, and this "
        "loss depends on that factor, so that its gradient is not defined");
}

}  // namespace

// ---- Cholesky

Tensor cholesky_grad(const Tensor& grad, const Tensor& factor, bool upper) {
  Tensor l = upper ? mH(factor) : factor, g = upper ? mH(grad) : grad;
  Tensor phi = tril(matmul(mH(l), g), 0);
  phi = phi - diagonal_matrix(diagonal_of(phi) * 0.5);
  Tensor out = solve_triangle(mH(l), phi, true);  // L⁻ᴴ Φ
  out = solve_triangle(l, out, false, false);     // … L⁻¹
  return (out + mH(out)) * 0.5;
}

Tensor cholesky_inverse_grad(const Tensor& grad, const Tensor& factor, const Tensor& inverse,
                             bool upper) {
  Tensor both = matmul(matmul(inverse, grad + mH(grad)), inverse);
  return -(upper ? matmul(factor, both) : matmul(both, factor));
}

Tensor cholesky_solve_factor_grad(const Tensor& grad, const Tensor& factor, const Tensor& solution,
                                  bool upper) {
  Tensor g = matmul(cholesky_solve(grad, factor, upper), mH(solution));
  Tensor both = g + mH(g);
  return -(upper ? matmul(factor, both) : matmul(both, factor));
}

// ---- QR

namespace {

// A = QR with square R: G = (gQ + Q H) R⁻ᴴ, H Hermitian of the upper triangle of gR Rᴴ - Qᴴ gQ.
Tensor qr_square_grad(const Tensor& grad_q, const Tensor& grad_r, const Tensor& q,
                      const Tensor& r) {
  Tensor m;
  if (grad_r.defined()) accumulate_into(m, matmul(grad_r, mH(r)));
  if (grad_q.defined()) accumulate_into(m, -matmul(mH(q), grad_q));
  Tensor out = matmul(q, hermitian_of_triangle(triu(m, 0)));
  if (grad_q.defined()) out = out + grad_q;
  return solve_triangle(mH(r), out, false, false);
}

}  // namespace

Tensor qr_grad(const Tensor& grad_q, const Tensor& grad_r, const Tensor& q, const Tensor& r,
               const std::string& mode) {
  check(mode != "r",
        "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Use "
        "linalg.qr(A, mode='reduced') where gradients are wanted");
  const int64_t m = q.size(-2), n = r.size(-1), k = std::min(m, n);
  check(mode != "complete" || m <= n,
        "The QR decomposition is not differentiable when mode='complete' and nrows > ncols");
  if (!grad_q.defined() && !grad_r.defined()) return {};
  if (m >= n) return qr_square_grad(grad_q, grad_r, q, r);
  // A = [X Y] = Q [S T]: S belongs to the square QR of X, T = Qᴴ Y
  Tensor s = narrow(r, -1, 0, k), t = narrow(r, -1, k, n - k);
  Tensor grad_s, grad_t, g = grad_q;
  if (grad_r.defined()) {
    grad_s = narrow(grad_r, -1, 0, k);
    grad_t = narrow(grad_r, -1, k, n - k);
    accumulate_into(g, matmul(matmul(q, t), mH(grad_t)));
  } else {
    grad_t = zeros_of(t);
  }
  return cat({qr_square_grad(g, grad_s, q, s), matmul(q, grad_t)}, -1);
}

namespace {

// Gradients of Householder vectors and their factors, from the gradient of the columns of
// H₁ H₂ … Hₖ, Hᵢ = I - τᵢ vᵢ vᵢᴴ, that `grad` has.
struct HouseholderGrads {
  Tensor vectors, tau;
};
HouseholderGrads householder_grads(const Tensor& grad, const Tensor& vectors, const Tensor& tau) {
  const int64_t m = grad.size(-2), n = grad.size(-1), k = tau.size(-1);
  Tensor unit = tril(narrow(vectors, -1, 0, k), -1) + eye(m, k, vectors.dtype(), vectors.device());
  auto vector = [&](int64_t i) { return narrow(unit, -1, i, 1); };
  auto factor = [&](int64_t i) { return unsqueeze(narrow(tau, -1, i, 1), -1); };
  // right[i] = Hᵢ₊₁ … Hₖ E
  TensorList right(size_t(k) + 1);
  Dims sizes = linalg::appended(batch_sizes(grad), {m, n});
  right[size_t(k)] = expand(eye(m, n, grad.dtype(), grad.device()), sizes, false);
  for (int64_t i = k - 1; i >= 0; i--) {
    const Tensor& last = right[size_t(i) + 1];
    Tensor v = vector(i);
    right[size_t(i)] = last - matmul(v * factor(i), matmul(mH(v), last));
  }
  Tensor g = grad;  // (H₁ … Hᵢ₋₁)ᴴ grad
  TensorList columns, taus;
  for (int64_t i = 0; i < k; i++) {
    const Tensor& r = right[size_t(i) + 1];
    Tensor v = vector(i), t = factor(i), t_conj = ops::conj(t);
    Tensor gv = matmul(g, matmul(mH(r), v)), gh_v = matmul(r, matmul(mH(g), v));
    taus.push_back(-squeeze_dim(matmul(mH(v), gv), -1));
    columns.push_back(-(t_conj * gv + t * gh_v));
    g = g - matmul(v * t_conj, matmul(mH(v), g));
  }
  if (k == 0) return {zeros_of(vectors), zeros_of(tau)};
  Tensor out = tril(cat(columns, -1), -1);
  if (k < vectors.size(-1)) {
    Dims rest = linalg::appended(batch_sizes(grad), {m, vectors.size(-1) - k});
    out = cat({out, zeros(rest, out.dtype(), out.device())}, -1);
  }
  return {out, cat(taus, -1)};
}

// Gradient of the square Q that ormqr multiplies with.
Tensor square_q_grad(const Tensor& grad, const Tensor& other, bool left, bool transpose) {
  if (left) return transpose ? matmul(other, mH(grad)) : matmul(grad, mH(other));
  return transpose ? matmul(mH(grad), other) : matmul(mH(other), grad);
}

}  // namespace

Tensor householder_grad(const Tensor& grad, const Tensor& vectors, const Tensor& tau) {
  return householder_grads(grad, vectors, tau).vectors;
}
Tensor householder_tau_grad(const Tensor& grad, const Tensor& vectors, const Tensor& tau) {
  return householder_grads(grad, vectors, tau).tau;
}
Tensor ormqr_grad(const Tensor& grad, const Tensor& vectors, const Tensor& tau, const Tensor& other,
                  bool left, bool transpose) {
  return householder_grads(square_q_grad(grad, other, left, transpose), vectors, tau).vectors;
}
Tensor ormqr_tau_grad(const Tensor& grad, const Tensor& vectors, const Tensor& tau,
                      const Tensor& other, bool left, bool transpose) {
  return householder_grads(square_q_grad(grad, other, left, transpose), vectors, tau).tau;
}

// ---- LU

namespace {

// PA = LU with square L and U: G = L⁻ᴴ (tril(Lᴴ gL, -1) + triu(gU Uᴴ)) U⁻ᴴ.
Tensor lu_square_grad(const Tensor& grad_l, const Tensor& grad_u, const Tensor& l,
                      const Tensor& u) {
  Tensor phi;
  if (grad_l.defined()) accumulate_into(phi, tril(matmul(mH(l), grad_l), -1));
  if (grad_u.defined()) accumulate_into(phi, triu(matmul(grad_u, mH(u)), 0));
  Tensor out = solve_triangle(mH(l), phi, true, true, true);
  return solve_triangle(mH(u), out, false, false);
}

}  // namespace

Tensor lu_grad(const Tensor& grad_l, const Tensor& grad_u, const Tensor& p, const Tensor& l,
               const Tensor& u) {
  const int64_t m = l.size(-2), n = u.size(-1), k = std::min(m, n);
  if (m == n) return matmul(p, lu_square_grad(grad_l, grad_u, l, u));
  if (m < n) {  // the last columns: L U₂ = A₂
    Tensor u1 = narrow(u, -1, 0, k), u2 = narrow(u, -1, k, n - k);
    Tensor g2 = solve_triangle(mH(l), narrow(grad_u, -1, k, n - k), true, true, true);
    Tensor gl = grad_l - matmul(g2, mH(u2));
    Tensor g1 = lu_square_grad(gl, narrow(grad_u, -1, 0, k), l, u1);
    return matmul(p, cat({g1, g2}, -1));
  }
  // the last rows: L₂ U = A₂
  Tensor l1 = narrow(l, -2, 0, k), l2 = narrow(l, -2, k, m - k);
  Tensor g2 = solve_triangle(mH(u), narrow(grad_l, -2, k, m - k), false, false);
  Tensor gu = grad_u - matmul(mH(l2), g2);
  Tensor g1 = lu_square_grad(narrow(grad_l, -2, 0, k), gu, l1, u);
  return matmul(p, cat({g1, g2}, -2));
}

Tensor lu_factor_grad(const Tensor& grad, const Tensor& lu, const Tensor& pivots) {
  auto [p, l, u] = lu_unpack(lu, pivots, true, true);
  const int64_t k = std::min(lu.size(-1), lu.size(-2));
  return lu_grad(narrow(grad, -1, 0, k), narrow(grad, -2, 0, k), p, l, u);
}

Tensor lu_unpack_grad(const Tensor& grad_l, const Tensor& grad_u, const Dims& sizes) {
  const int64_t m = sizes[sizes.size() - 2], n = sizes.back(), k = std::min(m, n);
  Tensor out;
  Dims batch(IntSpan(sizes).first(sizes.size() - 2));
  auto padded = [&](const Tensor& t, int64_t dim, int64_t missing) {
    if (missing == 0) return t;
    Dims rest = t.sizes();
    rest[size_t(wrap_dim(dim, t.dim()))] = missing;
    return cat({t, zeros(rest, t.dtype(), t.device())}, dim);
  };
  if (grad_l.defined()) accumulate_into(out, padded(tril(grad_l, -1), -1, n - k));
  if (grad_u.defined()) accumulate_into(out, padded(triu(grad_u, 0), -2, m - k));
  return out;
}

// ---- singular values

Tensor svd_grad(const Tensor& grad_u, const Tensor& grad_s, const Tensor& grad_vh, const Tensor& u,
                const Tensor& s, const Tensor& vh) {
  if (!grad_u.defined() && !grad_s.defined() && !grad_vh.defined()) return {};
  check(u.dim() == s.dim() + 1,
        "svd_backward: needs the singular vectors; call with "
        "compute_uv=True");
  const int64_t k = s.size(-1), m = u.size(-2), n = vh.size(-1);
  // full_matrices: the vectors past the k-th are any basis of a complement
  Tensor gu = narrow_to(grad_u, -1, k), gvh = narrow_to(grad_vh, -2, k);
  Tensor U = narrow_to(u, -1, k), Vh = narrow_to(vh, -2, k);
  const bool is_complex = U.is_complex();
  auto widened = [&](const Tensor& t) { return is_complex ? _to_dtype(t, U.dtype()) : t; };
  Tensor row = unsqueeze(s, -2), column = unsqueeze(s, -1);
  if (!gu.defined() && !gvh.defined())
    return m >= n ? matmul(U * unsqueeze(grad_s, -2), Vh) : matmul(U, unsqueeze(grad_s, -1) * Vh);
  auto skew = [](const Tensor& a) { return a - mH(a); };
  Tensor gaps = (row - column) * (row + column) +
                eye(k, std::nullopt, s.dtype(), s.device());  // Eᵢⱼ = sⱼ² - sᵢ², 1 on the diagonal
  Tensor inner, from_u, from_v;
  if (gu.defined()) {
    from_u = skew(matmul(mH(U), gu));
    accumulate_into(inner, off_diagonal(from_u) / gaps * row);
  }
  if (gvh.defined()) {
    from_v = skew(matmul(Vh, mH(gvh)));
    accumulate_into(inner, column * (off_diagonal(from_v) / gaps));
  }
  if (is_complex) {
    Tensor open = !gvh.defined()  ? diagonal_of(from_u)
                  : !gu.defined() ? diagonal_of(from_v)
                                  : diagonal_of(from_u) + diagonal_of(from_v);
    check_gauge("svd_backward", imag(open), s);
    if (gu.defined() && gvh.defined())  // u and v turn together
      inner = inner + diagonal_matrix(diagonal_of(from_u) / (s * 2));
  }
  if (grad_s.defined()) inner = inner + widened(diagonal_matrix(grad_s));
  Tensor out = matmul(U, inner);
  if (m > k && gu.defined()) out = out + (gu - matmul(U, matmul(mH(U), gu))) / row;
  out = matmul(out, Vh);
  if (n > k && gvh.defined())
    out = out + matmul(U, (gvh - matmul(matmul(gvh, mH(Vh)), Vh)) / column);
  return out;
}

// ---- eigenvalues

Tensor eigh_grad(const Tensor& grad_values, const Tensor& grad_vectors, const Tensor& values,
                 const Tensor& vectors) {
  if (!grad_values.defined() && !grad_vectors.defined()) return {};
  check(vectors.dim() == values.dim() + 1, "linalg_eigh_backward: needs the eigenvectors");
  if (!grad_vectors.defined()) return matmul(vectors * unsqueeze(grad_values, -2), mH(vectors));
  Tensor projected = matmul(mH(vectors), grad_vectors);
  if (vectors.is_complex())
    check_gauge("linalg_eigh_backward", imag(diagonal_of(projected)), diagonal_of(abs(projected)));
  Tensor gaps = unsqueeze(values, -2) - unsqueeze(values, -1) +
                eye(values.size(-1), std::nullopt, values.dtype(), values.device());
  Tensor inner = off_diagonal(projected) / gaps;
  if (grad_values.defined()) {
    Tensor d = diagonal_matrix(grad_values);
    inner = inner + (vectors.is_complex() ? _to_dtype(d, vectors.dtype()) : d);
  }
  return matmul(vectors, matmul(inner, mH(vectors)));
}

Tensor eig_grad(const Tensor& grad_values, const Tensor& grad_vectors, const Tensor& values,
                const Tensor& vectors, DType dtype) {
  if (!grad_values.defined() && !grad_vectors.defined()) return {};
  Tensor v_h = mH(vectors), out;
  if (!grad_vectors.defined()) {
    out = linalg_solve(v_h, unsqueeze(grad_values, -1) * v_h, true);
  } else {
    Tensor projected = matmul(v_h, grad_vectors), d = diagonal_of(projected);
    check_gauge("linalg_eig_backward", imag(d), abs(d));
    // columns have length 1
    Tensor inner =
        projected - matmul(v_h, vectors * unsqueeze(_to_dtype(real(d), vectors.dtype()), -2));
    Tensor gaps = ops::conj(unsqueeze(values, -2) - unsqueeze(values, -1)) +
                  eye(values.size(-1), std::nullopt, values.dtype(), values.device());
    inner = off_diagonal(inner) / gaps;
    if (grad_values.defined()) inner = inner + diagonal_matrix(grad_values);
    out = linalg_solve(v_h, matmul(inner, v_h), true);
  }
  return is_complex(dtype) ? out : real(out);
}

// ---- solvers

namespace {

// G of A from the gradient of the right side and the solution of A X = B or X A = B.
Tensor matrix_grad(const Tensor& rhs_grad, const Tensor& solution, bool left) {
  return -(left ? matmul(rhs_grad, mH(solution)) : matmul(mH(solution), rhs_grad));
}

}  // namespace

Tensor lu_solve_factor_grad(const Tensor& grad, const Tensor& lu, const Tensor& pivots,
                            const Tensor& solution, bool left, bool adjoint) {
  Tensor g = matrix_grad(linalg_lu_solve(lu, pivots, grad, left, !adjoint), solution, left);
  if (adjoint) g = mH(g);
  auto [p, l, u] = lu_unpack(lu, pivots, true, true);
  Tensor rows = matmul(mT(p), g);
  return tril(matmul(rows, mH(u)), -1) + triu(matmul(mH(l), rows), 0);
}

namespace {

bool vector_case(const Tensor& a, const Dims& b) {
  return b.size() == 1 || (size_t(a.dim()) == b.size() + 1 &&
                           equal(b, IntSpan(a.sizes()).first(size_t(a.dim() - 1))));
}

// A⁻ᴴ grad (or grad A⁻ᴴ): from the factors, unless they must carry a graph.
Tensor solve_adjoint(const Tensor& grad, const Tensor& a, const TensorList& results, bool left) {
  if (!grad_enabled()) return linalg_lu_solve(results[1], results[2], grad, left, true);
  return std::get<0>(linalg_solve_ex(mH(a), grad, left, false));
}

}  // namespace

Tensor solve_rhs_grad(const Tensor& grad, const Tensor& a, const Dims& b_sizes,
                      const TensorList& results, bool left) {
  const bool vector = vector_case(a, b_sizes);
  Tensor g = solve_adjoint(vector ? unsqueeze(grad, -1) : grad, a, results, left);
  return vector ? squeeze_dim(g, -1) : g;
}

Tensor solve_matrix_grad(const Tensor& grad, const Tensor& a, const Dims& b_sizes,
                         const TensorList& results, bool left) {
  const bool vector = vector_case(a, b_sizes);
  Tensor g = solve_adjoint(vector ? unsqueeze(grad, -1) : grad, a, results, left);
  return matrix_grad(g, vector ? unsqueeze(results[0], -1) : results[0], left);
}

Tensor inverse_grad(const Tensor& grad, const Tensor& inverse) {
  return -matmul(mH(inverse), matmul(grad, mH(inverse)));
}

namespace {

bool holds_zero(const Tensor& t) {
  NoGrad off;
  return has_values(t) && t.numel() > 0 && item(any(eq(t, 0))).to_bool();
}

// A⁻ᴴ · scale, a number per matrix; a zero on U's diagonal counts as a rounding error.
Tensor scaled_inverse_adjoint(const Tensor& scale, const Tensor& a, const Tensor& lu,
                              const Tensor& pivots) {
  Tensor d = diagonal_matrix(expand(unsqueeze(scale, -1), pivots.sizes(), false));
  if (grad_enabled()) return std::get<0>(linalg_solve_ex(mH(a), d, true, false));
  Tensor diagonal_u = diagonal_of(lu);
  const double eps =
      real_dtype(a.dtype()) == DType::Float64 ? 2.220446049250313e-16 : 1.1920928955078125e-07;
  Tensor factors = lu + diagonal_matrix(_to_dtype(eq(diagonal_u, 0), lu.dtype()) * eps);
  return linalg_lu_solve(factors, pivots, d, true, true);
}

// Transposed adjugate, conjugated, of matrices of any rank: U diag(∏ of the other sᵢ) Vᴴ det(U Vᴴ).
Tensor adjugate_adjoint(const Tensor& a) {
  auto [u, s, vh] = _linalg_svd(a, false, true, std::nullopt);
  TensorList others;
  const int64_t n = s.size(-1);
  for (int64_t i = 0; i < n; i++) {
    Tensor before = prod_dim(narrow(s, -1, 0, i), -1, false, std::nullopt),
           after = prod_dim(narrow(s, -1, i + 1, n - i - 1), -1, false, std::nullopt);
    others.push_back(before * after);
  }
  Tensor phase = linalg_det(u) * linalg_det(vh);
  return matmul(u * unsqueeze(stack(others, -1), -2), vh) *
         unsqueeze(unsqueeze(ops::conj(phase), -1), -1);
}

}  // namespace

Tensor det_grad(const Tensor& grad, const Tensor& a, const TensorList& results) {
  if (a.numel() == 0) return zeros_of(a);
  if (holds_zero(diagonal_of(results[1])))
    return adjugate_adjoint(a) * unsqueeze(unsqueeze(grad, -1), -1);
  return scaled_inverse_adjoint(grad * ops::conj(results[0]), a, results[1], results[2]);
}

Tensor slogdet_grad(const Tensor& grad_sign, const Tensor& grad_log, const Tensor& a,
                    const TensorList& results) {
  Tensor scale;
  if (grad_log.defined())
    accumulate_into(scale, a.is_complex() ? _to_dtype(grad_log, a.dtype()) : grad_log);
  if (grad_sign.defined() && a.is_complex()) {
    Tensor turn = imag(grad_sign * ops::conj(results[0]));
    accumulate_into(scale, complex(zeros_of(turn), turn));
  }
  if (!scale.defined()) return {};
  return scaled_inverse_adjoint(scale, a, results[2], results[3]);
}

Tensor triangular_matrix_grad(const Tensor& grad, const Tensor& a, const Tensor& solution,
                              bool upper, bool left, bool unitriangular) {
  Tensor g = matrix_grad(solve_triangle(mH(a), grad, !upper, left, unitriangular), solution, left);
  const int64_t offset = unitriangular ? 1 : 0;
  return upper ? triu(g, offset) : tril(g, -offset);
}

Tensor triangular_solve_rhs_grad(const Tensor& grad, const Tensor& a, bool upper, bool transpose,
                                 bool unitriangular) {
  return std::get<0>(triangular_solve(grad, ops::conj(a), upper, !transpose, unitriangular));
}

Tensor triangular_solve_matrix_grad(const Tensor& grad, const Tensor& grad_copy, const Tensor& a,
                                    const Tensor& solution, bool upper, bool transpose,
                                    bool unitriangular) {
  Tensor g = matrix_grad(triangular_solve_rhs_grad(grad, a, upper, transpose, unitriangular),
                         solution, true);
  if (transpose) g = mT(g);
  const int64_t offset = unitriangular ? 1 : 0;
  return (upper ? triu(g, offset) : tril(g, -offset)) + grad_copy;
}

// ---- least squares and pseudoinverse

Tensor pinv_grad(const Tensor& grad, const Tensor& a, const Tensor& pinv) {
  Tensor p_h = mH(pinv), g_h = mH(grad);
  Tensor outside = matmul(g_h - matmul(a, matmul(pinv, g_h)), matmul(pinv, p_h));
  Tensor turned = matmul(matmul(p_h, pinv), g_h);
  return outside + turned - matmul(matmul(turned, pinv), a) - matmul(p_h, matmul(grad, p_h));
}

namespace {

struct LeastSquares {
  Tensor b, x, grad, residual;
  bool vector;
};
// The arguments with vectors as columns; residual = 2 (A X - B) · gradient of its squares.
LeastSquares least_squares(const Tensor& grad, const Tensor& grad_residuals, const Tensor& a,
                           const Tensor& b, const Tensor& solution) {
  const bool vector = a.dim() - 1 == b.dim() && vector_case(a, b.sizes());
  auto column = [&](const Tensor& t) { return vector && t.defined() ? unsqueeze(t, -1) : t; };
  LeastSquares out{column(b), column(solution), column(grad), {}, vector};
  if (grad_residuals.defined() && grad_residuals.numel() > 0) {
    Tensor g = vector ? unsqueeze(grad_residuals, -1) : grad_residuals;
    out.residual = (matmul(a, out.x) - out.b) * unsqueeze(g * 2, -2);
  }
  return out;
}

}  // namespace

Tensor lstsq_matrix_grad(const Tensor& grad, const Tensor& grad_residuals, const Tensor& a,
                         const Tensor& b, const Tensor& solution) {
  LeastSquares q = least_squares(grad, grad_residuals, a, b, solution);
  Tensor out;
  if (q.grad.defined()) {
    Tensor p = linalg_pinv_atol_rtol_tensor(a, std::nullopt, std::nullopt, false);
    accumulate_into(out, pinv_grad(matmul(q.grad, mH(q.b)), a, p));
  }
  if (q.residual.defined()) accumulate_into(out, matmul(q.residual, mH(q.x)));
  return out;
}

Tensor lstsq_rhs_grad(const Tensor& grad, const Tensor& grad_residuals, const Tensor& a,
                      const Tensor& b, const Tensor& solution) {
  LeastSquares q = least_squares(grad, grad_residuals, a, b, solution);
  Tensor out;
  if (q.grad.defined()) {
    Tensor p = linalg_pinv_atol_rtol_tensor(a, std::nullopt, std::nullopt, false);
    accumulate_into(out, matmul(mH(p), q.grad));
  }
  if (q.residual.defined()) accumulate_into(out, -q.residual);
  return q.vector && out.defined() ? squeeze_dim(out, -1) : out;
}

// ---- exponential: the derivative is a block of the exponential of [[Aᴴ, G], [0, Aᴴ]]

Tensor matrix_exp_grad(const Tensor& grad, const Tensor& a) {
  const int64_t n = a.size(-1);
  Tensor a_h = mH(a), zero = zeros_of(a_h);
  Tensor block = cat({cat({a_h, grad}, -1), cat({zero, a_h}, -1)}, -2);
  return narrow(narrow(linalg_matrix_exp(block), -2, 0, n), -1, n, n);
}

}  // namespace flambeau::formulas
