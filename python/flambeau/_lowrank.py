"""Matrix functions whose results need Python: `lu`, and randomised low-rank decompositions."""

from __future__ import annotations

from ._autocast import autocast_policy
from ._C import Tensor, ops
from ._torch_function import let_override

__all__ = ["lu", "pca_lowrank", "svd_lowrank"]


@autocast_policy("fp32")
def lu(A, pivot=True, get_infos=False, out=None):
    """The older form of `linalg.lu_factor`.

    Args:
        get_infos: also return per matrix the position of the first zero on U's diagonal, and raise
            no error for it.
        out: two tensors (three with ``get_infos``) for the results.

    >>> factors, pivots = flambeau.lu(flambeau.tensor([[1.0, 2.0], [4.0, 4.0]]))
    >>> pivots
    tensor([2, 2], dtype=torch.int32)
    """
    results: tuple = ops.linalg_lu_factor_ex(A, pivot=pivot, check_errors=not get_infos)
    if not get_infos:
        results = tuple(results)[:2]
    if out is None:
        return results
    if not isinstance(out, (tuple, list)):
        raise TypeError(f"argument 'out' must be tuple of Tensors, not {type(out).__name__}")
    if len(out) != len(results):
        raise TypeError(f"expected tuple of {len(results)} elements but got {len(out)}")
    return tuple(given.resize_(r.shape).copy_(r) for given, r in zip(out, results))


def _approximate_basis(A, q, niter, M):
    """Orthonormal columns that nearly span the largest singular directions of ``A - M``.

    Subspace iteration from random vectors: Halko, Martinsson and Tropp, "Finding structure with
    randomness", 2011, algorithm 4.4.
    """

    def product(matrix, other, mean):
        result = ops.matmul(matrix, other)
        return result if mean is None else result - ops.matmul(mean, other)

    mean_h = None if M is None else M.mH
    start = A.new_empty((A.shape[-1], q)).normal_()
    basis = ops.linalg_qr(product(A, start, M)).Q
    for _ in range(niter):
        basis = ops.linalg_qr(product(A.mH, basis, mean_h)).Q
        basis = ops.linalg_qr(product(A, basis, M)).Q
    return basis


def svd_lowrank(A, q=6, niter=2, M=None):
    """Singular value decomposition of nearly low-rank matrices from ``q`` random vectors.

    Args:
        A: (..., m, n).
        q: a little more than the rank.
        niter: how often the random vectors are multiplied with A; more is more exact.
        M: subtracted from A; broadcasts to it.

    Returns ``(U, S, V)`` with ``A - M`` about ``U @ diag(S) @ V.mH``.

    >>> u, s, v = flambeau.svd_lowrank(flambeau.ones(4, 3), q=2)
    >>> u.shape, v.shape
    (torch.Size([4, 2]), torch.Size([3, 2]))
    """
    m, n = A.shape[-2:]
    mean = None if M is None else M.broadcast_to(A.shape)
    if m < n:  # the iteration works on the long side
        A, mean = A.mH, None if mean is None else mean.mH
    basis = _approximate_basis(A, q, niter, mean)
    small = ops.matmul(basis.mH, A)
    if mean is not None:
        small = small - ops.matmul(basis.mH, mean)
    u, s, vh = ops.linalg_svd(small, full_matrices=False)
    u, v = ops.matmul(basis, u), vh.mH
    return (v, s, u) if m < n else (u, s, v)


def pca_lowrank(A, q=None, center=True, niter=2):
    """Principal components of nearly low-rank matrices, with `svd_lowrank`.

    Args:
        A: (..., observations, variables).
        q: how many components, by default ``min(6, m, n)``.
        center: whether the mean of each variable is subtracted.

    >>> flambeau.pca_lowrank(flambeau.ones(4, 3))[1].shape
    torch.Size([3])
    """
    if not isinstance(A, Tensor) or not (A.is_floating_point() or A.is_complex()):
        raise ValueError(f"input must have a floating point or complex dtype, got {A.dtype}")
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not (0 <= q <= min(m, n)):
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)


let_override(globals(), __all__)
