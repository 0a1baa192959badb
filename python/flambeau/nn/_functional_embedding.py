"""Lookup of rows in a table, single (`embedding`) or combined a bag at a time."""

from __future__ import annotations

from flambeau._C import ops
from flambeau._functional import embedding_renorm_
from flambeau.autograd import no_grad


def _padding_index(padding_idx, rows):
    """The row without gradient, counted from the start; -1 where there is none."""
    if padding_idx is None:
        return -1
    if not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx if padding_idx >= 0 else rows + padding_idx


def _renormalize(weight, indices, max_norm, norm_type):
    with no_grad():
        embedding_renorm_(weight, indices, max_norm, norm_type)


def embedding(
    input,
    weight,
    padding_idx=None,
    max_norm=None,
    norm_type=2.0,
    scale_grad_by_freq=False,
    sparse=False,
):
    """The rows of weight that input names.

    Args:
        input: indices, of any shape.
        padding_idx: a row that receives no gradient.
        max_norm: rows are first scaled, in weight itself, to a norm of at most this.
        scale_grad_by_freq: divides gradients by how often a row is used.
        sparse: gradients of weight are sparse tensors, of the rows that were read.

    >>> F.embedding(flambeau.tensor([1]), flambeau.tensor([[1.0], [2.0]]))
    tensor([[2.]])
    """
    padding_idx = -1 if padding_idx is None else _padding_index(padding_idx, weight.shape[0])
    if max_norm is not None:
        _renormalize(weight, input, max_norm, norm_type)
    return ops.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


def _check_bags(input, weight, offsets, mode, per_sample_weights, scale_grad_by_freq):
    if per_sample_weights is not None and input.shape != per_sample_weights.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then "
            f"it must have the same shape as the input ({input.shape})"
        )
    if weight.dim() != 2:
        raise ValueError(
            f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}"
        )
    if input.dim() == 2 and offsets is not None:
        raise ValueError(
            "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of "
            f"fixed length sequences. However, found offsets of type {type(offsets)}"
        )
    if input.dim() == 1 and offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if input.dim() == 1 and offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    if input.dim() not in (1, 2):
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}"
        )
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
            f"for mode='sum' (got mode='{mode}')."
        )


def _check_offsets(indices, offsets, include_last_offset):
    if offsets.dtype.is_floating_point or indices.dtype.is_floating_point:
        raise RuntimeError(
            "embedding_bag: indices and offsets must be of scalar types Long or Int, but got "
            f"{indices.dtype} and {offsets.dtype}"
        )
    count = offsets.numel()
    if include_last_offset and not count:
        raise RuntimeError("include_last_offset: number of offsets should be at least 1")
    if not count:
        return
    first, last = int(offsets[0]), int(offsets[-1])
    if first != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
            f"position 0. However, got {first}"
        )
    if last > indices.numel():
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {indices.numel()} but got "
            f"offsets[-1] of {last}"
        )
    if bool((offsets[1:] < offsets[:-1]).any()):
        raise RuntimeError("embedding_bag: offsets must not decrease")


def bags_of_rows(
    weight, indices, offsets, scale_grad_by_freq, mode, per_sample_weights, last, padding
):
    """The work of `embedding_bag`, for indices (N,).

    Args:
        last: the last offset is the end of the last bag.
        padding: an index that counts nothing; -1 for none.

    Returns:
        The bags, the bag of each index, how many indices count in a bag, and for mode max the
        index of each result's row, None for others.
    """
    _check_offsets(indices, offsets, last)
    bags = offsets.numel() - 1 if last else offsets.numel()
    if last:
        indices = indices[: int(offsets[-1])]
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights[: indices.numel()]
    try:
        rows = ops.embedding(weight, indices, padding, scale_grad_by_freq)
    except IndexError as error:
        raise RuntimeError(f"embedding_bag: {error}") from None
    # Empty bags start where the next one does: the last bag that starts at an index has it.
    starts = offsets[:bags].long()
    bag_of = ops.searchsorted(starts, ops.arange(indices.numel()), right=True) - 1
    kept = indices != padding
    counts = starts.new_zeros((bags,)).index_add(0, bag_of, kept.long())
    if mode == "max":
        best, which = _max_of_bags(rows, kept, bag_of, starts, bags)
        return best, bag_of, counts, indices[which] if indices.numel() else which
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    if padding >= 0:
        rows = rows.masked_fill(~kept.unsqueeze(1), 0)
    sums = rows.new_zeros((bags, weight.shape[1])).index_add(0, bag_of, rows)
    if mode == "mean":
        sums = sums / counts.clamp(min=1).to(rows.dtype).unsqueeze(1)
    return sums, bag_of, counts, None


def _sum_bags(
    weight, indices, offsets, scale_grad_by_freq, mode, per_sample_weights, last, padding, sparse
):
    _check_offsets(indices, offsets, last)
    if last:
        indices = indices[: int(offsets[-1])]
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights[: indices.numel()]
        offsets = offsets[:-1]
    return ops._sum_bags(
        weight, indices, offsets, per_sample_weights, mode == "mean", padding, scale_grad_by_freq,
        sparse,
    )  # fmt: skip


def _max_of_bags(rows, kept, bag_of, starts, bags):
    """The maxima and the rows they come from; zeros for bags in which nothing counts."""
    if rows.shape[0] == 0:
        nothing = (bags, rows.shape[1])
        return rows.new_zeros(nothing) + rows.sum(0), starts.new_zeros(nothing)
    # A table of positions (bag, place in the bag); places beyond a bag's end are masked.
    rank = ops.arange(rows.shape[0])
    place = rank - starts[bag_of]
    shape = (bags, int(place.max()) + 1)
    table = starts.new_zeros(shape).index_put((bag_of, place), rank)
    valid = kept.new_zeros(shape).index_put((bag_of, place), kept)
    best, where = rows[table].masked_fill(~valid.unsqueeze(2), float("-inf")).max(1)
    empty = ~valid.any(1).unsqueeze(1)
    return best.masked_fill(empty, 0), table.gather(1, where).masked_fill(empty, 0)


def embedding_bag(
    input,
    weight,
    offsets=None,
    max_norm=None,
    norm_type=2,
    scale_grad_by_freq=False,
    mode="mean",
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    """Sums, means or maxima of rows of weight, a bag of indices at a time.

    Args:
        input: indices (bags, n), or all bags one after the other (N,) with offsets.
        offsets: where each bag starts.
        mode: ``"sum"``, ``"mean"`` or ``"max"``; empty bags give zeros.
        per_sample_weights: a factor an index, with mode sum.
        include_last_offset: the last offset is the end of the last bag.
        padding_idx: an index that counts nothing.

    >>> table = flambeau.tensor([[1.0], [2.0], [4.0]])
    >>> F.embedding_bag(flambeau.tensor([0, 1, 2]), table, flambeau.tensor([0, 2]), mode="sum")
    tensor([[3.],
            [4.]])
    """
    _check_bags(input, weight, offsets, mode, per_sample_weights, scale_grad_by_freq)
    if input.dim() == 2:
        offsets = ops.arange(input.shape[0]) * input.shape[1]
        input = input.reshape(-1)
        include_last_offset = False
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    padding = _padding_index(padding_idx, weight.shape[0])
    if max_norm is not None:
        _renormalize(weight, input, max_norm, norm_type)
    if mode != "max":
        return _sum_bags(
            weight,
            input,
            offsets,
            scale_grad_by_freq,
            mode,
            per_sample_weights,
            include_last_offset,
            padding,
            sparse,
        )
    if sparse:
        raise RuntimeError(
            "embedding_bag: sparse gradients are not supported with mode='max'; use sparse=False"
        )
    return bags_of_rows(
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        mode,
        per_sample_weights,
        include_last_offset,
        padding,
    )[0]
