"""`flambeau.sparse`: functions of sparse tensors."""

from __future__ import annotations

from flambeau import _C
from flambeau._C import Tensor, ops
from flambeau._namespaces import fill as _fill
from flambeau._sparse.construct import sparse_coo_tensor as _coo_tensor

from ._invariants import check_sparse_tensor_invariants
from ._types import TYPES as _TYPES

__all__ = [
    "as_sparse_gradcheck",
    "check_sparse_tensor_invariants",
    "spdiags",
    "sum",
    *_fill(globals(), "sparse"),
]
globals().update(_TYPES)


def sum(input, dim=None, dtype=None):
    """Sum of the elements that a sparse tensor specifies, or sums over dimensions.

    Args:
        dim: a dimension or several; all without it, with a dense result.
        dtype: of the result; values are converted first.

    Returns:
        A sparse tensor over the dimensions that remain, dense if no sparse one does.

    >>> a = flambeau.tensor([[0.0, 2.0], [1.0, 3.0]]).to_sparse()
    >>> flambeau.sparse.sum(a, dim=1).to_dense()
    tensor([2., 4.])
    """
    if isinstance(input, Tensor) and not input.is_sparse and dim is not None:
        raise NotImplementedError(
            "Could not run 'aten::_sparse_sum' : sparse.sum over dimensions takes tensors of "
            f"layout torch.sparse_coo, got {input.layout}"
        )
    if dtype is not None:
        input = input.to(dtype)
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        values = input.coalesce().values() if input.is_sparse else input.values()
        return values.sum()
    return ops._sparse_sum(input, dim)


def spdiags(diagonals, offsets, shape, layout=None):
    """A sparse matrix with the rows of ``diagonals`` on its diagonals.

    Args:
        diagonals: (n, length) or one row; element j of a row goes to column j.
        offsets: the number of each diagonal: 0 the main one, above it positive.
        shape: of the matrix.
        layout: of the result, sparse_coo without it; or sparse_csr, sparse_csc.

    >>> flambeau.sparse.spdiags(flambeau.ones(2, 3), flambeau.tensor([0, 1]), (3, 3)).to_dense()
    tensor([[1., 1., 0.],
            [0., 1., 1.],
            [0., 0., 1.]])
    """
    if diagonals.dim() == 1:
        diagonals = diagonals.unsqueeze(0)
    if offsets.dim() == 0:
        offsets = offsets.unsqueeze(0)
    if diagonals.dim() != 2:
        raise RuntimeError(f"Diagonals must be vector or matrix, got {diagonals.dim()} dimensions")
    if offsets.dim() != 1:
        raise RuntimeError(f"Offsets must be scalar or vector, got {offsets.dim()} dimensions")
    if len(shape) != 2:
        raise RuntimeError(f"Output shape must be 2d, got {tuple(shape)}")
    if diagonals.shape[0] != offsets.shape[0]:
        raise RuntimeError(
            f"Number of diagonals ({diagonals.shape[0]}) does not match the number of offsets "
            f"({offsets.shape[0]})"
        )
    if offsets.dtype != _C.int64:
        raise RuntimeError(f"Offset Tensor must have dtype Long but got {offsets.dtype}")
    if layout is not None and str(layout) not in (
        "torch.sparse_coo",
        "torch.sparse_csr",
        "torch.sparse_csc",
    ):
        raise RuntimeError(
            "Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got "
            f"{str(layout).removeprefix('torch.')}"
        )
    if offsets.unique().shape[0] != offsets.shape[0]:
        raise RuntimeError("Offset tensor contains duplicate values")
    rows, columns = shape
    n, length = diagonals.shape
    column = ops.arange(length).expand(n, length)
    row = column - offsets.unsqueeze(1)
    inside = (row >= 0) & (row < rows) & (column < columns)
    at = ops.stack([row[inside], column[inside]])
    out = _coo_tensor(at, diagonals[inside], (rows, columns))
    return out if layout is None or out.layout is layout else out.to_sparse(layout=layout)


def as_sparse_gradcheck(gradcheck):
    """gradcheck for functions of sparse tensors: their values are what is varied.

    >>> check = flambeau.sparse.as_sparse_gradcheck(flambeau.autograd.gradcheck)
    >>> a = flambeau.eye(2, dtype=flambeau.float64).to_sparse().requires_grad_()
    >>> check(lambda x: x.to_dense(), (a,), masked=True)
    True
    """
    from ._gradcheck import sparse_gradcheck

    return sparse_gradcheck(gradcheck)
