// Pieces of the formulas of matrix products, factorisations and solvers.
#pragma once
#include "core/tensor.h"

namespace flambeau::formulas {

// beta · self + alpha · product, with beta 0 meaning that self is not read.
Tensor scaled_sum(const Tensor& self, const Tensor& product, const Scalar& beta,
                  const Scalar& alpha);
Tensor linear_weight_grad(const Tensor& grad, const Tensor& input);
// What PyTorch's composition for such an input ends with.
const char* linear_node(const Tensor& input, const OptTensor& bias);
// Gradient of the distances between rows of x1 and x2 with respect to x1.
Tensor euclidean_grad(const Tensor& grad, const Tensor& x1, const Tensor& x2,
                      const Tensor& distance);

// ---- factorisations: gradients of the factors -> gradient of the matrix. Undefined gradients are
// zero. References are in formulas_linalg.cpp.
Tensor cholesky_grad(const Tensor& grad, const Tensor& factor, bool upper);
Tensor cholesky_inverse_grad(const Tensor& grad, const Tensor& factor, const Tensor& inverse,
                             bool upper);
Tensor cholesky_solve_factor_grad(const Tensor& grad, const Tensor& factor, const Tensor& solution,
                                  bool upper);
Tensor qr_grad(const Tensor& grad_q, const Tensor& grad_r, const Tensor& q, const Tensor& r,
               const std::string& mode);
Tensor householder_grad(const Tensor& grad, const Tensor& vectors, const Tensor& tau);
Tensor householder_tau_grad(const Tensor& grad, const Tensor& vectors, const Tensor& tau);
Tensor ormqr_grad(const Tensor& grad, const Tensor& vectors, const Tensor& tau, const Tensor& other,
                  bool left, bool transpose);
Tensor ormqr_tau_grad(const Tensor& grad, const Tensor& vectors, const Tensor& tau,
                      const Tensor& other, bool left, bool transpose);
Tensor lu_factor_grad(const Tensor& grad, const Tensor& lu, const Tensor& pivots);
Tensor lu_grad(const Tensor& grad_l, const Tensor& grad_u, const Tensor& p, const Tensor& l,
               const Tensor& u);
Tensor lu_unpack_grad(const Tensor& grad_l, const Tensor& grad_u, const Dims& sizes);
Tensor svd_grad(const Tensor& grad_u, const Tensor& grad_s, const Tensor& grad_vh, const Tensor& u,
                const Tensor& s, const Tensor& vh);
Tensor eigh_grad(const Tensor& grad_values, const Tensor& grad_vectors, const Tensor& values,
                 const Tensor& vectors);
Tensor eig_grad(const Tensor& grad_values, const Tensor& grad_vectors, const Tensor& values,
                const Tensor& vectors, DType dtype);

// ---- solvers, inverses, determinants
Tensor lu_solve_factor_grad(const Tensor& grad, const Tensor& lu, const Tensor& pivots,
                            const Tensor& solution, bool left, bool adjoint);
Tensor solve_rhs_grad(const Tensor& grad, const Tensor& a, const Dims& b_sizes,
                      const TensorList& results, bool left);
Tensor solve_matrix_grad(const Tensor& grad, const Tensor& a, const Dims& b_sizes,
                         const TensorList& results, bool left);
Tensor inverse_grad(const Tensor& grad, const Tensor& inverse);
Tensor det_grad(const Tensor& grad, const Tensor& a, const TensorList& results);
Tensor slogdet_grad(const Tensor& grad_sign, const Tensor& grad_log, const Tensor& a,
                    const TensorList& results);
Tensor triangular_matrix_grad(const Tensor& grad, const Tensor& a, const Tensor& solution,
                              bool upper, bool left, bool unitriangular);
Tensor triangular_solve_rhs_grad(const Tensor& grad, const Tensor& a, bool upper, bool transpose,
                                 bool unitriangular);
Tensor triangular_solve_matrix_grad(const Tensor& grad, const Tensor& grad_copy, const Tensor& a,
                                    const Tensor& solution, bool upper, bool transpose,
                                    bool unitriangular);
Tensor lstsq_matrix_grad(const Tensor& grad, const Tensor& grad_residuals, const Tensor& a,
                         const Tensor& b, const Tensor& solution);
Tensor lstsq_rhs_grad(const Tensor& grad, const Tensor& grad_residuals, const Tensor& a,
                      const Tensor& b, const Tensor& solution);
Tensor pinv_grad(const Tensor& grad, const Tensor& a, const Tensor& pinv);
Tensor matrix_exp_grad(const Tensor& grad, const Tensor& a);

}  // namespace flambeau::formulas
