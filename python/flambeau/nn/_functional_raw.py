"""Functions of the root namespace whose arguments are numbers where nn.functional has words."""

from __future__ import annotations

from flambeau._C import ops

from . import functional as F

_REDUCTIONS = ("none", "mean", "sum")


def _reduction(number):
    if not 0 <= number < len(_REDUCTIONS):
        raise ValueError(f"reduction: expected 0, 1 or 2, got {number}")
    return _REDUCTIONS[number]


def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction=1):
    """`nn.functional.cosine_embedding_loss`; ``reduction`` 0 none, 1 mean, 2 sum."""
    return F.cosine_embedding_loss(
        input1, input2, target, margin=margin, reduction=_reduction(reduction)
    )


def hinge_embedding_loss(input, target, margin=1.0, reduction=1):
    """`nn.functional.hinge_embedding_loss`; ``reduction`` 0 none, 1 mean, 2 sum."""
    return F.hinge_embedding_loss(input, target, margin=margin, reduction=_reduction(reduction))


def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=1):
    """`nn.functional.margin_ranking_loss`; ``reduction`` 0 none, 1 mean, 2 sum."""
    return F.margin_ranking_loss(
        input1, input2, target, margin=margin, reduction=_reduction(reduction)
    )


def triplet_margin_loss(
    anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction=1
):
    """`nn.functional.triplet_margin_loss`; ``reduction`` 0 none, 1 mean, 2 sum."""
    return F.triplet_margin_loss(
        anchor, positive, negative, margin=margin, p=p, eps=eps, swap=swap,
        reduction=_reduction(reduction),
    )  # fmt: skip


def poisson_nll_loss(input, target, log_input, full, eps, reduction):
    """`nn.functional.poisson_nll_loss`; ``reduction`` 0 none, 1 mean, 2 sum."""
    return F.poisson_nll_loss(
        input, target, log_input=log_input, full=full, eps=eps, reduction=_reduction(reduction)
    )


def norm_except_dim(v, pow=2, dim=0):
    """The norms of the slices of a dimension, with the other dimensions of size 1.

    >>> norm_except_dim(flambeau.ones(2, 4))
    tensor([[2.],
            [2.]])
    """
    if dim == -1:
        return ops.norm(v, pow)
    if not -v.dim() <= dim < v.dim():
        raise IndexError(f"norm_except_dim: dim {dim} of a tensor of {v.dim()} dimensions")
    rest = [d for d in range(v.dim()) if d != dim % v.dim()]
    return ops.norm(v, pow, rest, True) if rest else v.abs()
