"""Functions of the root namespace whose arguments are numbers where nn.functional has words."""

from __future__ import annotations

from flambeau._C import ops
from flambeau._torch_function import let_override

from . import functional as F
from ._functional_embedding import bags_of_rows

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


def embedding_bag(
    weight,
    indices,
    offsets,
    scale_grad_by_freq=False,
    mode=0,
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    """`nn.functional.embedding_bag` and what its gradient needs; ``mode`` 0 sum, 1 mean, 2 max.

    Returns:
        The bags; the bag of each index, nothing for sums without padding_idx; how many indices
        count in each bag, zeros for sums; for maxima the index of each element's row, else the
        counts again.

    >>> table = flambeau.tensor([[1.0], [2.0], [4.0]])
    >>> flambeau.embedding_bag(table, flambeau.tensor([0, 1, 2]), flambeau.tensor([0, 2]))[0]
    tensor([[3.],
            [4.]])
    """
    if mode not in (0, 1, 2):
        raise RuntimeError(f"embedding_bag: `mode` must be sum, mean, or max (0, 1, 2); got {mode}")
    if per_sample_weights is not None and mode != 0:
        raise RuntimeError("embedding_bag: per_sample_weights only supported with mode='sum'")
    rows = weight.shape[0]
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, {-rows} through {rows - 1}, "
            f"but got {padding_idx}"
        )
    padding = -1 if padding_idx is None else padding_idx % rows
    bags, bag_of, counts, largest = bags_of_rows(
        weight,
        indices.reshape(-1),
        offsets,
        scale_grad_by_freq,
        ("sum", "mean", "max")[mode],
        None if per_sample_weights is None else per_sample_weights.reshape(-1),
        include_last_offset,
        padding,
    )
    if mode == 0:
        counts = ops.zeros_like(offsets)
        if padding < 0:
            bag_of = bag_of[:0]
    counts = counts.to(offsets.dtype)
    return bags, bag_of.to(offsets.dtype), counts, counts if largest is None else largest


let_override(
    globals(),
    "cosine_embedding_loss embedding_bag hinge_embedding_loss margin_ranking_loss"
    " norm_except_dim poisson_nll_loss triplet_margin_loss".split(),
)
