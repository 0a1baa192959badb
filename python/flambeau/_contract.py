"""Public contractions whose arguments need Python: einsum, tensordot, chain_matmul, cdist."""

from __future__ import annotations

from ._C import Tensor, ops
from ._torch_function import let_override

__all__ = ["cdist", "chain_matmul", "einsum", "tensordot"]

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _subscripts(labels):
    out = ""
    for label in labels:
        if label is Ellipsis:
            out += "..."
        elif 0 <= label < len(_LETTERS):
            out += _LETTERS[label]
        else:
            raise ValueError(
                f"einsum(): subscripts must be within the range [0, {len(_LETTERS)}), got {label}"
            )
    return out


def einsum(*args):
    """Sums of products, described by letters (or numbers) for the dimensions.

    Args:
        equation: as ``"ij,jk->ik"``: letters that are not in the output are summed over, ``...``
            stands for any leading dimensions; without ``->`` the output has the letters that occur
            once, in alphabetical order.
        operands: the tensors. Or, without an equation, tensors and lists of numbers in turns, and
            at the end a list for the output: ``einsum(a, [0, 1], b, [1, 2], [0, 2])``.

    Raises:
        ValueError: fewer than two arguments.
        RuntimeError: the equation does not fit the operands.

    >>> flambeau.einsum("ij,j->i", flambeau.ones(2, 3), flambeau.tensor([1.0, 2.0, 3.0]))
    tensor([6., 6.])
    """
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one "
            "operand and its subscripts list"
        )
    if isinstance(args[0], str):
        equation, operands = args[0], args[1:]
    else:
        operands = args[: len(args) // 2 * 2 : 2]
        equation = ",".join(_subscripts(args[i]) for i in range(1, len(args), 2))
        if len(args) % 2:
            equation += "->" + _subscripts(args[-1])
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    return ops._einsum(equation, list(operands))


def tensordot(a, b, dims=2, out=None):
    """Sums of products over several dimensions.

    Args:
        dims: how many of the last dimensions of ``a`` and first of ``b`` are summed over, or two
            lists that name them.

    >>> flambeau.tensordot(flambeau.ones(2, 3, 4), flambeau.ones(3, 4, 5)).shape
    torch.Size([2, 5])
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist() if dims.numel() > 1 else int(dims)
    if isinstance(dims, (list, tuple)):
        dims_a, dims_b = (list(d) if isinstance(d, (list, tuple)) else [d] for d in dims)
    else:
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(
                f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims} for {a.dim()} and "
                f"{b.dim()} dimensions"
            )
        dims_a, dims_b = list(range(a.dim() - dims, a.dim())), list(range(dims))
    result = ops._tensordot(a, b, dims_a, dims_b)
    return result if out is None else out.resize_(result.shape).copy_(result)


def chain_matmul(*matrices, out=None):
    """Product of matrices; `linalg.multi_dot` is the newer name."""
    if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)):
        matrices = tuple(matrices[0])
    if len(matrices) == 1:
        return matrices[0]
    return ops.linalg_multi_dot(list(matrices), out=out)


_MODES = {
    "use_mm_for_euclid_dist_if_necessary": 0,
    "use_mm_for_euclid_dist": 1,
    "donot_use_mm_for_euclid_dist": 2,
}


def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The p-norm distances between all rows of two batches of matrices.

    Args:
        x1, x2: (..., P, M) and (..., R, M); the result is (..., P, R).
        p: 0 counts the elements that differ, inf takes the largest difference.
        compute_mode: whether 2-norms come from a matrix product: from 26 rows on, always or never.

    >>> flambeau.cdist(flambeau.zeros(1, 2), flambeau.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """
    if compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return ops.cdist(x1, x2, p, _MODES[compute_mode])


let_override(globals(), __all__)
