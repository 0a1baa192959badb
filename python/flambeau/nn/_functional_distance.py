"""Distances, similarities and normalisation to unit length."""

from __future__ import annotations

from flambeau._C import ops
from flambeau._functional import broadcast_tensors


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """input divided by its p-norm along dim, or by eps where that is larger.

    >>> F.normalize(flambeau.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    denominator = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    if out is None:
        return input / denominator
    return ops.div(input, denominator, out=out)


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """The cosine of the angle between vectors along dim; their lengths are at least eps."""
    x1, x2 = broadcast_tensors(x1, x2)
    n1 = x1.norm(2, dim, keepdim=True)
    n2 = x2.norm(2, dim, keepdim=True)
    return ((x1 / n1.clamp_min(eps)) * (x2 / n2.clamp_min(eps))).sum(dim)


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The p-norm of ``x1 - x2 + eps`` along the last dimension."""
    return (x1 - x2 + eps).norm(p, -1, keepdim=keepdim)


def pdist(input, p=2):
    """The p-norm distances of all pairs of rows, in the order (0, 1), (0, 2), ..."""
    if input.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.dim()}D")
    if not input.dtype.is_floating_point:
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    first, second = ops.triu_indices(input.shape[0], input.shape[0], 1).unbind()
    return (input[first] - input[second]).norm(p, 1)
