"""Factorisations, solvers, eigenvalues and singular values of (batches of) matrices."""

from __future__ import annotations

from .samples import T
from .table import composite, decomp, native, op

FM = "function method"
FMO = "function method out"
SQUARE = [(T(3, 3),), (T(2, 2, 2),), (T(0, 3, 3),), (T(0, 0),)]
MATRICES = [(T(3, 2),), (T(2, 2, 3),), (T(0, 2, 2),)]


def internal(schema, **fields):
    tags = "internal " + fields.pop("tags", "")
    op(schema, kernel=native, forms="", tags=tags, **fields)


# ---- Cholesky

op(
    "linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)",
    kernel=native,
    example="""
        >>> a = flambeau.tensor([[4.0, 2.0], [2.0, 5.0]])
        >>> flambeau.linalg.cholesky_ex(a)
        torch.return_types.linalg_cholesky_ex(
        L=tensor([[2., 0.],
                [1., 2.]]),
        info=tensor(0, dtype=torch.int32))
    """,
    grad={"self": "cholesky_grad(grads[0], results[0], upper)"},
    forms="out",
    alias="linalg.cholesky_ex",
    tags="constant:1 autocast:fp32 out:exact",
    doc="`linalg.cholesky`, and per matrix the order of the first minor that is not positive (0: success).",
)
op(
    "linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor",
    kernel=composite,
    forms="out",
    alias="linalg.cholesky",
    tags="autocast:fp32 out:exact",
    doc="Lower triangular ``L`` with ``A = L @ L.mH``, or with ``upper`` its adjoint, of a Hermitian positive definite ``A``.",
    example="""
        >>> flambeau.linalg.cholesky(flambeau.tensor([[4.0, 2.0], [2.0, 5.0]]))
        tensor([[2., 0.],
                [1., 2.]])
    """,
)
op(
    "cholesky(Tensor self, bool upper=False) -> Tensor",
    kernel=native,
    example="""
        >>> a = flambeau.tensor([[4.0, 2.0], [2.0, 5.0]])
        >>> flambeau.cholesky(a)
        tensor([[2., 0.],
                [1., 2.]])
    """,
    grad={"self": "cholesky_grad(grad, result, upper)"},
    forms=FMO,
    tags="autocast:fp32",
    doc="The older form of `linalg.cholesky`.",
)
op(
    "cholesky_inverse(Tensor self, bool upper=False) -> Tensor",
    kernel=native,
    example="""
        >>> factor = flambeau.tensor([[2.0, 0.0], [1.0, 2.0]])
        >>> flambeau.cholesky_inverse(factor)
        tensor([[ 0.3125, -0.1250],
                [-0.1250,  0.2500]])
    """,
    grad={"self": "cholesky_inverse_grad(grad, self, result, upper)"},
    forms=FMO,
    tags="autocast:fp32",
    doc="Inverse of ``L @ L.mH`` (with ``upper`` of ``U.mH @ U``) from the factor.",
)
op(
    "cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor",
    kernel=native,
    example="""
        >>> factor = flambeau.tensor([[2.0, 0.0], [1.0, 2.0]])
        >>> b = flambeau.tensor([[2.0], [1.0]])
        >>> flambeau.cholesky_solve(b, factor)
        tensor([[0.5000],
                [0.0000]])
    """,
    grad={
        "self": "cholesky_solve(grad, input2, upper)",
        "input2": "cholesky_solve_factor_grad(grad, input2, result, upper)",
    },
    forms=FMO,
    tags="autocast:fp32",
    doc="Solves ``L @ L.mH @ X = input`` with the Cholesky factor ``input2``.",
)

# ---- QR

op(
    "linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)",
    kernel=native,
    grad={"A": "qr_grad(grads[0], grads[1], results[0], results[1], mode)"},
    samples=[(T(3, 3),), (T(2, 4, 2),), (T(2, 3),), (T(2, 3), "complete"), (T(0, 3),), (T(3, 0),)],
    forms="out",
    alias="linalg.qr",
    tags="partial_grads autocast:fp32 out:exact",
    doc="``A = Q @ R``, orthonormal columns times upper triangular; ``mode``: reduced, complete (square Q) or r (R alone).",
    example="""
        >>> q, r = flambeau.linalg.qr(flambeau.eye(2))
        >>> (q @ r).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """,
)
op(
    "qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)",
    kernel=composite,
    samples=[(T(3, 2),), (T(2, 2, 3), True)],
    forms=FMO,
    tags="autocast:fp32 out:exact",
    doc="The older form of `linalg.qr`; ``some=False`` gives the square Q.",
)
op(
    "geqrf(Tensor self) -> (Tensor a, Tensor tau)",
    kernel=native,
    example="""
        >>> a = flambeau.tensor([[4.0, 2.0], [2.0, 5.0]])
        >>> flambeau.geqrf(a)
        torch.return_types.geqrf(
        a=tensor([[-4.4721, -4.0249],
                [ 0.2361,  3.5777]]),
        tau=tensor([1.8944, 0.0000]))
    """,
    grad={"self": "no_derivative('geqrf', self)"},
    forms=FMO,
    tags="autocast:fp32",
    doc="QR decomposition as LAPACK keeps it: R on and above the diagonal, Householder vectors below, their factors ``tau``.",
)
op(
    "linalg_householder_product(Tensor input, Tensor tau) -> Tensor",
    kernel=native,
    grad={
        "input": "householder_grad(grad, input, tau)",
        "tau": "householder_tau_grad(grad, input, tau)",
    },
    samples=[(T(4, 2), T(2)), (T(2, 3, 3), T(2, 2))],
    forms="out",
    alias="linalg.householder_product",
    tags="autocast:fp32",
    doc="The first columns of the product of Householder reflections: ``Q`` from what `geqrf` returns.",
)
op(
    "orgqr(Tensor self, Tensor input2) -> Tensor",
    kernel=decomp("linalg_householder_product(self, input2)"),
    samples=[(T(4, 2), T(2))],
    forms=FMO,
    tags="autocast:fp32",
    doc="The older name of `linalg.householder_product`.",
)
op(
    "ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor",
    kernel=native,
    example="""
        >>> a = flambeau.tensor([[4.0, 2.0], [2.0, 5.0]])
        >>> b = flambeau.tensor([[1.0], [0.0]])
        >>> flambeau.ormqr(*flambeau.geqrf(a), b)
        tensor([[-0.8944],
                [-0.4472]])
    """,
    grad={
        "self": "ormqr_grad(grad, self, input2, input3, left, transpose)",
        "input2": "ormqr_tau_grad(grad, self, input2, input3, left, transpose)",
        "input3": "ormqr(self, input2, grad, left, not transpose)",
    },
    forms=FMO,
    tags="autocast:fp32 out:exact",
    doc="``Q @ input3`` (or from the right, or with the adjoint of Q), where Q is the square matrix of `geqrf`.",
)

# ---- LU, solve, inverse, determinant

op(
    "linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)",
    kernel=native,
    example="""
        >>> a = flambeau.tensor([[4.0, 2.0], [2.0, 5.0]])
        >>> flambeau.linalg.lu_factor_ex(a)
        torch.return_types.linalg_lu_factor_ex(
        LU=tensor([[4.0000, 2.0000],
                [0.5000, 4.0000]]),
        pivots=tensor([1, 2], dtype=torch.int32),
        info=tensor(0, dtype=torch.int32))
    """,
    grad={"A": "lu_factor_grad(grads[0], results[0], results[1])"},
    forms="out",
    alias="linalg.lu_factor_ex",
    tags="constant:1,2 out:exact",
    doc="`linalg.lu_factor`, and per matrix the position of the first zero on U's diagonal (0: none).",
)
op(
    "linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)",
    kernel=composite,
    samples=[(T(3, 3),), (T(2, 2, 3),)],
    forms="out",
    alias="linalg.lu_factor",
    doc="LU decomposition with row exchanges, both factors in one matrix, for `linalg.lu_solve`.",
    tags="out:exact",
)
op(
    "linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)",
    kernel=native,
    grad={"A": "lu_grad(grads[1], grads[2], results[0], results[1], results[2])"},
    samples=[(T(3, 3),), (T(4, 2),), (T(2, 2, 3),)],
    forms="out",
    alias="linalg.lu",
    tags="constant:0 out:exact",
    doc="``A = P @ L @ U``: permutation, unit lower triangular, upper triangular.",
)
op(
    "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)",
    kernel=native,
    example="""
        >>> a = flambeau.tensor([[4.0, 2.0], [2.0, 5.0]])
        >>> flambeau.lu_unpack(*flambeau.linalg.lu_factor(a))
        torch.return_types.lu_unpack(
        P=tensor([[1., 0.],
                [0., 1.]]),
        L=tensor([[1.0000, 0.0000],
                [0.5000, 1.0000]]),
        U=tensor([[4., 2.],
                [0., 4.]]))
    """,
    grad={"LU_data": "lu_unpack_grad(grads[1], grads[2], LU_data.shape)"},
    forms="function out",
    tags="constant:0 partial_grads out:exact",
    doc="P, L and U of what `linalg.lu_factor` returns.",
)
op(
    "linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor",
    kernel=native,
    example="""
        >>> a = flambeau.tensor([[4.0, 2.0], [2.0, 5.0]])
        >>> b = flambeau.tensor([[2.0], [1.0]])
        >>> flambeau.linalg.lu_solve(*flambeau.linalg.lu_factor(a), b)
        tensor([[0.5000],
                [0.0000]])
    """,
    grad={
        "LU": "lu_solve_factor_grad(grad, LU, pivots, result, left, adjoint)",
        "B": "linalg_lu_solve(LU, pivots, grad, left, not adjoint)",
    },
    forms="out",
    alias="linalg.lu_solve",
    doc="Solves ``A @ X = B`` (``X @ A = B`` with ``left=False``) from A's LU decomposition, with ``adjoint`` for ``A.mH``.",
)
op(
    "lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor",
    kernel=decomp("linalg_lu_solve(LU_data, LU_pivots, self, True, False)"),
    example="""
        >>> a = flambeau.tensor([[4.0, 2.0], [2.0, 5.0]])
        >>> b = flambeau.tensor([[2.0], [1.0]])
        >>> flambeau.lu_solve(b, *flambeau.linalg.lu_factor(a))
        tensor([[0.5000],
                [0.0000]])
    """,
    forms=FMO,
    tags="autocast:fp32",
    doc="The older form of `linalg.lu_solve`.",
)
internal(
    "_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)",
    grad={
        "A": "solve_matrix_grad(grads[0], A, B.shape, results, left)",
        "B": "solve_rhs_grad(grads[0], A, B.shape, results, left)",
    },
    tags="constant:1,2,3",
)
op(
    "linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)",
    kernel=composite,
    example="""
        >>> a = flambeau.tensor([[4.0, 2.0], [2.0, 5.0]])
        >>> b = flambeau.tensor([[2.0], [1.0]])
        >>> flambeau.linalg.solve_ex(a, b)
        torch.return_types.linalg_solve_ex(
        result=tensor([[0.5000],
                [0.0000]]),
        info=tensor(0, dtype=torch.int32))
    """,
    forms="out",
    alias="linalg.solve_ex",
    doc="`linalg.solve` without an error for singular matrices: ``info`` tells them (0: success).",
    tags="out:exact",
)
op(
    "linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
    kernel=composite,
    samples=[(T(3, 3), T(3, 2)), (T(3, 3), T(3)), (T(2, 2, 2), T(2, 3)), (T(2, 2), T(3, 2), False)],
    forms="out",
    alias="linalg.solve",
    tags="autocast:fp32 out:exact",
    doc="``X`` with ``A @ X = B``, or with ``left=False`` of ``X @ A = B``, for invertible A; B may hold vectors.",
    example="""
        >>> flambeau.linalg.solve(flambeau.tensor([[2.0, 0.0], [0.0, 4.0]]), flambeau.tensor([2.0, 2.0]))
        tensor([1.0000, 0.5000])
    """,
)
op(
    "linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
    kernel=native,
    example="""
        >>> a = flambeau.tensor([[4.0, 2.0], [2.0, 5.0]])
        >>> flambeau.linalg.inv_ex(a)
        torch.return_types.linalg_inv_ex(
        inverse=tensor([[ 0.3125, -0.1250],
                [-0.1250,  0.2500]]),
        info=tensor(0, dtype=torch.int32))
    """,
    grad={"A": "inverse_grad(grads[0], results[0])"},
    forms="out",
    alias="linalg.inv_ex",
    tags="constant:1 autocast:fp32 out:exact",
    doc="`linalg.inv` without an error for singular matrices: ``info`` tells them (0: success).",
)
op(
    "linalg_inv(Tensor A) -> Tensor",
    kernel=composite,
    samples=SQUARE,
    ref="numpy.linalg.inv(A)",
    forms="out",
    alias="linalg.inv",
    tags="autocast:fp32 out:exact",
    doc="Inverse of square matrices.",
)
op(
    "inverse(Tensor self) -> Tensor",
    kernel=decomp("linalg_inv(self)"),
    example="""
        >>> a = flambeau.tensor([[4.0, 2.0], [2.0, 5.0]])
        >>> flambeau.inverse(a)
        tensor([[ 0.3125, -0.1250],
                [-0.1250,  0.2500]])
    """,
    samples=SQUARE[:1],
    forms=FMO,
    tags="autocast:fp32 out:exact",
    doc="The older name of `linalg.inv`.",
)
internal(
    "_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)",
    grad={"A": "det_grad(grads[0], A, results)"},
    tags="constant:1,2",
)
op(
    "linalg_det(Tensor A) -> Tensor",
    kernel=composite,
    samples=SQUARE,
    ref="numpy.linalg.det(A)",
    forms="out",
    alias="linalg.det",
    doc="Determinant of square matrices.",
    tags="out:exact",
)
op(
    "det(Tensor self) -> Tensor",
    kernel=decomp("linalg_det(self)"),
    samples=SQUARE[:1],
    forms=FM,
    doc="The older name of `linalg.det`.",
)
internal(
    "_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)",
    grad={"A": "slogdet_grad(grads[0], grads[1], A, results)"},
    tags="constant:2,3 partial_grads",
)
op(
    "linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)",
    kernel=composite,
    samples=SQUARE,
    forms="out",
    alias="linalg.slogdet",
    doc="Sign (a complex number of size 1 for complex A) and logarithm of the absolute value of the determinant.",
    tags="out:exact",
)
op(
    "slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)",
    kernel=decomp("linalg_slogdet(self)"),
    samples=SQUARE[:1],
    forms=FMO,
    doc="The older name of `linalg.slogdet`.",
    tags="out:exact",
)
op(
    "logdet(Tensor self) -> Tensor",
    kernel=composite,
    samples=[(T(2, 2, 2),)],
    forms=FM,
    doc="Logarithm of the determinant; NaN where that is negative.",
)
op(
    "linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor",
    kernel=native,
    grad={
        "self": "triangular_matrix_grad(grad, self, result, upper, left, unitriangular)",
        "B": "linalg_solve_triangular(mH(self), grad, not upper, left, unitriangular)",
    },
    samples=[
        (T(2, 2, low=1.0), T(2, 3), True),
        (T(2, 2, 2, low=1.0), T(3, 2), False, False),
        (T(3, 3, low=-0.5, high=0.5), T(3, 1), False, True, True),
    ],
    forms="out",
    alias="linalg.solve_triangular",
    doc="`linalg.solve` for a triangular matrix, of which only the ``upper`` or lower triangle is read.",
    tags="out:exact",
)
op(
    "triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)",
    kernel=native,
    grad={
        "self": "triangular_solve_rhs_grad(grads[0], A, upper, transpose, unitriangular)",
        "A": "triangular_solve_matrix_grad(grads[0], grads[1], A, results[0], upper, transpose, unitriangular)",
    },
    samples=[(T(2, 3), T(2, 2, low=1.0)), (T(2, 3), T(2, 2, low=1.0), False, True)],
    forms=FMO,
    tags="autocast:fp32 out:exact",
    doc="The older form of `linalg.solve_triangular`; also returns a copy of A.",
)
op(
    "linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor pivots, Tensor info)",
    kernel=native,
    example="""
        >>> a = flambeau.tensor([[4.0, 2.0], [2.0, 5.0]])
        >>> flambeau.linalg.ldl_factor_ex(a)
        torch.return_types.linalg_ldl_factor_ex(
        LD=tensor([[4.0000, 0.0000],
                [0.5000, 4.0000]]),
        pivots=tensor([1, 2], dtype=torch.int32),
        info=tensor(0, dtype=torch.int32))
    """,
    grad={"self": "no_derivative('linalg_ldl_factor_ex', self)"},
    forms="out",
    alias="linalg.ldl_factor_ex",
    tags="constant:1,2 out:exact",
    doc="`linalg.ldl_factor`, and per matrix the position of the first zero on D's diagonal (0: none).",
)
op(
    "linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)",
    kernel=composite,
    example="""
        >>> a = flambeau.tensor([[4.0, 2.0], [2.0, 5.0]])
        >>> flambeau.linalg.ldl_factor(a)
        torch.return_types.linalg_ldl_factor(
        LD=tensor([[4.0000, 0.0000],
                [0.5000, 4.0000]]),
        pivots=tensor([1, 2], dtype=torch.int32))
    """,
    forms="out",
    alias="linalg.ldl_factor",
    doc="``A = P @ L @ D @ L.mT @ P.mT`` (Bunch-Kaufman) of a symmetric or Hermitian A, of which the lower triangle is read.",
    tags="out:exact",
)
op(
    "linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor",
    kernel=native,
    example="""
        >>> a = flambeau.tensor([[4.0, 2.0], [2.0, 5.0]])
        >>> b = flambeau.tensor([[2.0], [1.0]])
        >>> flambeau.linalg.ldl_solve(*flambeau.linalg.ldl_factor(a), b)
        tensor([[0.5000],
                [0.0000]])
    """,
    grad={
        "LD": "no_derivative('linalg_ldl_solve', LD)",
        "B": "no_derivative('linalg_ldl_solve', B)",
    },
    forms="out",
    alias="linalg.ldl_solve",
    doc="Solves ``A @ X = B`` from the result of `linalg.ldl_factor`.",
)
op(
    "linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)",
    kernel=native,
    grad={
        "self": "lstsq_matrix_grad(grads[0], grads[1], self, b, results[0])",
        "b": "lstsq_rhs_grad(grads[0], grads[1], self, b, results[0])",
    },
    samples=[(T(3, 2), T(3, 2)), (T(2, 3), T(2, 1)), (T(2, 3, 2), T(2, 3))],
    forms="out",
    alias="linalg.lstsq",
    tags="constant:2,3 partial_grads autocast:fp32",
    doc="``X`` of least ``|A @ X - B|`` (of these the smallest); ``driver``: gels, gelsy, gelsd or gelss.",
)

# ---- eigenvalues, singular values

internal(
    "_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
    grad={"A": "svd_grad(grads[0], grads[1], grads[2], results[0], results[1], results[2])"},
    tags="partial_grads",
)
op(
    "linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
    kernel=composite,
    samples=[(T(3, 2), False), (T(2, 2, 3), False), (T(2, 2),), (T(0, 2), False)],
    forms="out",
    alias="linalg.svd",
    tags="autocast:fp32 out:exact",
    doc="``A = U @ diag(S) @ Vh`` with orthonormal columns and rows, S descending; ``full_matrices`` makes U and Vh square.",
    example="""
        >>> flambeau.linalg.svd(flambeau.tensor([[3.0, 0.0], [0.0, 4.0]])).S
        tensor([4., 3.])
    """,
)
op(
    "linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor",
    kernel=composite,
    samples=MATRICES,
    ref="numpy.linalg.svd(A, compute_uv=False)",
    forms="out",
    alias="linalg.svdvals",
    tags="autocast:fp32 out:exact",
    doc="Singular values, the largest first.",
)
op(
    "svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)",
    kernel=composite,
    samples=[(T(3, 2),), (T(2, 2, 3),)],
    forms=FMO,
    tags="autocast:fp32 out:exact",
    doc="The older form of `linalg.svd`: returns V, not its adjoint.",
)
internal(
    "_linalg_eigh(Tensor A, str UPLO='L', bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)",
    grad={"A": "eigh_grad(grads[0], grads[1], results[0], results[1])"},
    tags="partial_grads",
)
op(
    "linalg_eigh(Tensor self, str UPLO='L') -> (Tensor eigenvalues, Tensor eigenvectors)",
    kernel=composite,
    example="""
        >>> a = flambeau.tensor([[4.0, 2.0], [2.0, 5.0]])
        >>> flambeau.linalg.eigh(a).eigenvalues
        tensor([2.4384, 6.5616])
    """,
    forms="out",
    alias="linalg.eigh",
    tags="autocast:fp32 out:exact",
    doc="Eigenvalues (ascending) and orthonormal eigenvectors of Hermitian matrices, of which one triangle is read.",
)
op(
    "linalg_eigvalsh(Tensor self, str UPLO='L') -> Tensor",
    kernel=composite,
    example="""
        >>> a = flambeau.tensor([[4.0, 2.0], [2.0, 5.0]])
        >>> flambeau.linalg.eigvalsh(a)
        tensor([2.4384, 6.5616])
    """,
    forms="out",
    alias="linalg.eigvalsh",
    tags="autocast:fp32 out:exact",
    doc="Eigenvalues of Hermitian matrices, ascending.",
)
op(
    "linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)",
    kernel=native,
    example="""
        >>> a = flambeau.tensor([[4.0, 2.0], [2.0, 5.0]])
        >>> flambeau.linalg.eig(a).eigenvalues
        tensor([2.4384+0.j, 6.5616+0.j])
    """,
    grad={"self": "eig_grad(grads[0], grads[1], results[0], results[1], self.dtype)"},
    forms="out",
    alias="linalg.eig",
    tags="partial_grads autocast:fp32",
    doc="Eigenvalues and eigenvectors (columns of length 1) of square matrices; both are complex.",
)
internal("_linalg_eigvals(Tensor self) -> Tensor")
op(
    "linalg_eigvals(Tensor self) -> Tensor",
    kernel=composite,
    samples=[(T(0, 2, 2),), (T(3, 3),)],
    forms="out",
    alias="linalg.eigvals",
    tags="autocast:fp32",
    doc="Eigenvalues of square matrices, as complex numbers.",
)

# ---- compositions

op(
    "linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor",
    kernel=native,
    grad={"self": "pinv_grad(grad, self, result)"},
    samples=[(T(3, 2),), (T(2, 2, 3),), (T(0, 2),)],
    forms="out",
    alias="linalg.pinv",
    doc="Pseudoinverse (Moore-Penrose); singular values up to ``max(atol, rtol * largest)`` count as zero.",
)
op(
    "linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor",
    kernel=composite,
    forms="out",
)
op(
    "linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor",
    kernel=decomp("linalg_pinv_atol_rtol_float(self, 0.0, rcond, hermitian)"),
    samples=[(T(3, 2), 1e-10)],
    forms="out",
)
op(
    "linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor",
    kernel=composite,
    forms="out",
)
op(
    "pinverse(Tensor self, float rcond=1e-15) -> Tensor",
    kernel=decomp("linalg_pinv(self, rcond, False)"),
    samples=[(T(3, 2),)],
    forms=FM,
    tags="autocast:fp32",
    doc="The older name of `linalg.pinv`.",
)
op(
    "linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor",
    kernel=composite,
    samples=[(T(3, 2),), (T(2, 2, 3),), (T(0, 2),)],
    forms="out",
    alias="linalg.matrix_rank",
    tags="autocast:fp32",
    doc="How many singular values are larger than ``max(atol, rtol * largest)``.",
)
op(
    "linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor",
    kernel=composite,
    forms="out",
    tags="autocast:fp32",
)
op(
    "linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor",
    kernel=decomp("linalg_matrix_rank_atol_rtol_float(self, tol, 0.0, hermitian)"),
    forms="out",
    tags="autocast:fp32",
)
op(
    "linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor",
    kernel=composite,
    forms="out",
    tags="autocast:fp32",
)
op(
    "linalg_cond(Tensor self, Scalar? p=None) -> Tensor",
    kernel=composite,
    samples=[(T(3, 3),), (T(2, 2, 2), 1), (T(2, 3), -2)],
    forms="out",
    alias="linalg.cond",
    tags="autocast:fp32",
    doc="Condition number with respect to a matrix norm, by default the ratio of the extreme singular values.",
)
op(
    "linalg_cond.p_str(Tensor self, str p) -> Tensor",
    kernel=composite,
    samples=[(T(3, 3), "fro"), (T(2, 2), "nuc")],
    forms="out",
    tags="autocast:fp32",
)
op(
    "linalg_matrix_power(Tensor self, int n) -> Tensor",
    kernel=composite,
    samples=[(T(3, 3), 3), (T(2, 2, 2), 0), (T(2, 2), 1), (T(2, 2), -5)],
    forms="out",
    alias="linalg.matrix_power",
    doc="Integer power of square matrices; of the inverse for negative ``n``.",
    tags="out:exact",
)
op(
    "matrix_power(Tensor self, int n) -> Tensor",
    kernel=decomp("linalg_matrix_power(self, n)"),
    samples=[(T(2, 2), 3)],
    forms=FMO,
    doc="See `linalg.matrix_power`.",
)
op(
    "linalg_matrix_exp(Tensor self) -> Tensor",
    kernel=native,
    grad={"self": "matrix_exp_grad(grad, self)"},
    samples=[(T(3, 3, low=-1.0, high=1.0),), (T(2, 2, 2),), (T(0, 2, 2),)],
    forms="",
    alias="linalg.matrix_exp",
    doc="Exponential of square matrices: scaling, Padé approximant, squaring (Higham, 2005).",
)
op(
    "matrix_exp(Tensor self) -> Tensor",
    kernel=decomp("linalg_matrix_exp(self)"),
    samples=[(T(2, 2, low=-1.0, high=1.0),)],
    forms=FM,
    doc="See `linalg.matrix_exp`.",
)
op(
    "linalg_vander(Tensor x, *, int? N=None) -> Tensor",
    kernel=composite,
    samples=[(T(3),), (T(2, 3), 2), (T(3), 5)],
    forms="",
    alias="linalg.vander",
    doc="Rows of powers ``1, x, x**2, …`` of each element; N of them, by default as many as there are elements.",
)
op(
    "linalg_tensorinv(Tensor self, int ind=2) -> Tensor",
    kernel=composite,
    samples=[(T(2, 2, 4),), (T(4, 2, 2), 1)],
    forms="out",
    alias="linalg.tensorinv",
    tags="autocast:fp32",
    doc="Inverse of the linear map from the trailing dimensions to the first ``ind`` ones.",
)
op(
    "linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor",
    kernel=composite,
    samples=[(T(2, 3, 6), T(2, 3)), (T(2, 4, 2), T(2, 2), (1,))],
    forms="out",
    alias="linalg.tensorsolve",
    tags="autocast:fp32",
    doc="``X`` with ``tensordot(A, X, X.ndim) = B``; ``dims`` of A are moved to its end first.",
)
