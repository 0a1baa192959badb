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
        sparse: accepted; gradients are dense either way.

    >>> F.embedding(flambeau.tensor([1]), flambeau.tensor([[1.0], [2.0]]))
    tensor([[2.]])
    """
    padding_idx = -1 if padding_idx is None else _padding_index(padding_idx, weight.shape[0])
    if max_norm is not None:
        _renormalize(weight, input, max_norm, norm_type)
    return ops.embedding(weight, input, padding_idx, scale_grad_by_freq)


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


def _bag_bounds(input, offsets, include_last_offset):
    """First index of each bag and, last, the end."""
    if offsets.dtype.is_floating_point or input.dtype.is_floating_point:
        raise RuntimeError(
            "embedding_bag: indices and offsets must be of scalar types Long or Int, but got "
            f"{input.dtype} and {offsets.dtype}"
        )
    bounds = offsets.tolist()
    count = input.shape[0]
    if bounds and bounds[0] != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
            f"position 0. However, got {bounds[0]}"
        )
    if bounds and bounds[-1] > count:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {count} but got offsets[-1] of "
            f"{bounds[-1]}"
        )
    if include_last_offset:
        if not bounds:
            raise RuntimeError("include_last_offset: number of offsets should be at least 1")
        return bounds
    return [*bounds, count]


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
        bags, each = input.shape
        lengths = [each] * bags
        input = input.reshape(-1)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    else:
        bounds = _bag_bounds(input, offsets, include_last_offset)
        lengths = [b - a for a, b in zip(bounds, bounds[1:])]
        bags = len(lengths)
        input = input[: bounds[-1]]
    padding = _padding_index(padding_idx, weight.shape[0])
    if max_norm is not None:
        _renormalize(weight, input, max_norm, norm_type)
    rows = ops.embedding(weight, input, padding, scale_grad_by_freq)
    counts = input.new_empty((bags,))
    for i, length in enumerate(lengths):
        counts[i] = length
    bag_of = ops.repeat_interleave(ops.arange(bags), counts)
    kept = input != padding
    if mode == "max":
        return _max_of_bags(rows, kept, bag_of, lengths)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    rows = rows.masked_fill(~kept.unsqueeze(1), 0)
    sums = rows.new_zeros((bags, weight.shape[1])).index_add(0, bag_of, rows)
    if mode == "sum":
        return sums
    used = rows.new_zeros((bags,)).index_add(0, bag_of, kept.to(rows.dtype))
    return sums / used.clamp(min=1).unsqueeze(1)


def _max_of_bags(rows, kept, bag_of, lengths):
    bags, width = len(lengths), max(lengths, default=0)
    if width == 0 or rows.shape[0] == 0:
        return rows.new_zeros((bags, rows.shape[1]))
    starts = [0]
    for length in lengths:
        starts.append(starts[-1] + length)
    # A table of positions (bag, place in the bag); places beyond a bag's end are masked.
    rank = ops.arange(rows.shape[0])
    first = ops.stack([bag_of.new_full((), s) for s in starts[:-1]])
    place = rank - first[bag_of]
    table = bag_of.new_zeros((bags, width)).index_put((bag_of, place), rank)
    valid = kept.new_zeros((bags, width)).index_put((bag_of, place), kept)
    filled = rows[table].masked_fill(~valid.unsqueeze(2), float("-inf"))
    best = filled.max(1)[0]
    return best.masked_fill(~valid.any(1).unsqueeze(1), 0)
