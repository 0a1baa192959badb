"""Losses. The frequent ones are operators; the others are composed of tensor operators here.

Every loss takes ``reduction`` ("mean", "sum" or "none"), and most the old pair of flags
``size_average`` and ``reduce`` that it replaced.
"""

from __future__ import annotations

import math
import warnings

from flambeau import _C
from flambeau._autocast import autocast_policy
from flambeau._C import ops

from ._functional_common import check_reduction, legacy_get_string, reduce_loss
from ._functional_distance import pairwise_distance


def _reduction_of(reduction, size_average, reduce):
    if size_average is None and reduce is None:
        return reduction
    return legacy_get_string(size_average, reduce)


def _check_class_dtype(name, target):
    """RuntimeError unless a target holds classes as int64, which these losses take alone."""
    if target.dtype != _C.int64:
        raise RuntimeError(
            f"{name}: expected scalar type Long for target, which holds classes, but found "
            f"{target.dtype}; convert it with .long()"
        )


def _is_integral(t):
    return not (t.dtype.is_floating_point or t.dtype.is_complex)


def _warn_broadcast(input, target):
    if target.shape != input.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
            stacklevel=3,
        )


def _weighted(losses, weight, reduction):
    if weight.shape != losses.shape:
        raise ValueError("Inputs and weights must have the same size.")
    losses = losses * weight
    if reduction == "mean":
        return losses.sum() / weight.sum()
    return reduce_loss(losses, reduction)


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """``(input - target) ** 2``.

    >>> F.mse_loss(flambeau.tensor([1.0, 2.0]), flambeau.tensor([1.0, 4.0]))
    tensor(2.)
    """
    _warn_broadcast(input, target)
    reduction = _reduction_of(reduction, size_average, reduce)
    if weight is not None:
        return _weighted(ops.mse_loss(input, target, reduction="none"), weight, reduction)
    return ops.mse_loss(input, target, reduction=reduction)


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """``|input - target|``."""
    _warn_broadcast(input, target)
    reduction = _reduction_of(reduction, size_average, reduce)
    if weight is not None:
        return _weighted(ops.l1_loss(input, target, reduction="none"), weight, reduction)
    return ops.l1_loss(input, target, reduction=reduction)


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """Squared below a difference of beta, linear above."""
    _warn_broadcast(input, target)
    reduction = _reduction_of(reduction, size_average, reduce)
    if beta == 0.0:
        return ops.l1_loss(input, target, reduction=reduction)
    return ops.smooth_l1_loss(input, target, reduction=reduction, beta=beta)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """Half the square below a difference of delta, ``delta * (|d| - delta / 2)`` above."""
    _warn_broadcast(input, target)
    if weight is not None:
        losses = ops.huber_loss(input, target, reduction="none", delta=delta)
        return _weighted(losses, weight, reduction)
    return ops.huber_loss(input, target, reduction=reduction, delta=delta)


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """Kullback-Leibler divergence; input holds logarithms, target probabilities.

    ``reduction="batchmean"`` divides the sum by the batch size, as the definition has it.
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_get_string(size_average, reduce)
    elif reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size. "
            "'batchmean' divides only by the batch size, and aligns with the KL div math "
            "definition. 'mean' will be changed to behave the same as 'batchmean' in the next "
            "major release.",
            stacklevel=2,
        )
    if _is_integral(input) or _is_integral(target):
        raise RuntimeError(
            "kl_div: Integral inputs not supported: expected probabilities, got input of "
            f"{input.dtype} and target of {target.dtype}"
        )
    if reduction != "batchmean":
        return ops.kl_div(input, target, reduction=reduction, log_target=log_target)
    total = ops.kl_div(input, target, reduction="sum", log_target=log_target)
    return total / input.shape[0] if input.dim() else total


def binary_cross_entropy(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean"
):
    """``-(target * log(input) + (1 - target) * log(1 - input))``.

    Raises:
        ValueError: input and target differ in shape.
        RuntimeError: input is outside of [0, 1].
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}) is deprecated. Please ensure they have the same size."
        )
    if target.dtype != input.dtype:
        raise RuntimeError(
            f"binary_cross_entropy: Found dtype {target.dtype} of target but expected "
            f"{input.dtype}, that of input; convert it with .to({input.dtype})"
        )
    return ops.binary_cross_entropy(input, target, weight=weight, reduction=reduction)


def binary_cross_entropy_with_logits(
    input,
    target,
    weight=None,
    size_average=None,
    reduce=None,
    reduction="mean",
    pos_weight=None,
):
    """`binary_cross_entropy` of ``sigmoid(input)``, without overflow."""
    reduction = _reduction_of(reduction, size_average, reduce)
    if target.shape != input.shape:
        raise ValueError(
            f"Target size ({target.shape}) must be the same as input size ({input.shape})"
        )
    if _is_integral(target) and not _is_integral(input):
        raise RuntimeError(
            f"binary_cross_entropy_with_logits: result type {input.dtype} can't be cast to that "
            f"of target, {target.dtype}; convert target with .to({input.dtype})"
        )
    return ops.binary_cross_entropy_with_logits(
        input, target, weight=weight, pos_weight=pos_weight, reduction=reduction
    )


def nll_loss(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
):
    """Minus the log-probability in input (N, C, ...) of the target class (N, ...).

    Args:
        weight: a factor a class; "mean" divides by the sum of the factors used.
        ignore_index: a target that counts nothing.
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    return ops.nll_loss(
        input, target, weight=weight, ignore_index=ignore_index, reduction=reduction
    )


def cross_entropy(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
    label_smoothing=0.0,
):
    """`nll_loss` of ``log_softmax(input, 1)``; target holds classes, or probabilities of all.

    Args:
        weight: a factor a class.
        ignore_index: a target that counts nothing.
        label_smoothing: the share of the target that is spread over all classes.

    >>> F.cross_entropy(flambeau.zeros(1, 2), flambeau.tensor([0]))
    tensor(0.6931)
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    return ops.cross_entropy(
        input,
        target,
        weight=weight,
        ignore_index=ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


def linear_cross_entropy(
    input,
    linear_weight,
    target,
    *,
    linear_bias=None,
    weight=None,
    reduction="mean",
    ignore_index=None,
    label_smoothing=0.0,
    options=None,
):
    """`cross_entropy` of a linear layer's result.

    Args:
        input: (N, in) or (in,).
        linear_weight: (C, in), or (C, d1, ..., in) for targets (N, d1, ...).
        linear_bias: (C,) or (C, d1, ...).
        options: accepted; there is one way to compute it.
    """
    features = linear_weight.shape[:-1]
    rows = linear_weight.reshape(-1, linear_weight.shape[-1])
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = ops.linear(input, rows, bias).reshape(*input.shape[:-1], *features)
    ignore_index = -100 if ignore_index is None else ignore_index
    return cross_entropy(
        logits,
        target,
        weight=weight,
        ignore_index=ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


def ctc_loss(
    log_probs,
    targets,
    input_lengths,
    target_lengths,
    blank=0,
    reduction="mean",
    zero_infinity=False,
):
    """Connectionist temporal classification of log-probabilities (T, N, C).

    Args:
        targets: (N, S), or the targets of all sequences one after the other.
        input_lengths, target_lengths: how many steps and labels each sequence has.
        blank: the class that separates labels.
        zero_infinity: whether losses that are infinite, of targets too long, count zero.
    """
    check_reduction(reduction)
    return ops.ctc_loss(
        log_probs,
        targets,
        input_lengths,
        target_lengths,
        blank,
        {"none": 0, "mean": 1, "sum": 2}[reduction],
        zero_infinity,
    )


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """Negative log-likelihood of target under normal distributions of mean input.

    Args:
        var: variances, of input's shape, with a last dimension of 1, or a number.
        full: adds the constant term.
        eps: the smallest variance.
    """
    if isinstance(var, (int, float)):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * ops.ones_like(input)
    elif bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif not (input.shape[:-1] == var.shape[:-1] and var.shape[-1] == 1):
            if not (
                var.dim() == input.dim()
                and sum(a != b for a, b in zip(input.shape, var.shape)) == 1
                and all(a == b or b == 1 for a, b in zip(input.shape, var.shape))
            ):
                raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    # The floor under the variance is no function of it: no gradient passes.
    var = var + (var.detach().clamp(min=eps) - var.detach())
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduce_loss(loss, reduction)


@autocast_policy("fp32")
def poisson_nll_loss(
    input,
    target,
    log_input=True,
    full=False,
    size_average=None,
    eps=1e-8,
    reduce=None,
    reduction="mean",
):
    """Negative log-likelihood of target under Poisson distributions of rate exp(input).

    Args:
        log_input: whether input holds logarithms of rates.
        full: adds Stirling's approximation of ``log(target!)``.
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    check_reduction(reduction)
    if log_input:
        loss = input.exp() - target * input
    else:
        loss = input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduce_loss(loss, reduction)


@autocast_policy("fp32")
def hinge_embedding_loss(
    input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"
):
    """input where target is 1, ``max(0, margin - input)`` where it is -1."""
    reduction = _reduction_of(reduction, size_average, reduce)
    zeros = ops.zeros_like(input)
    apart = ops.where(target != 1, (margin - input).clamp(min=0), zeros)
    near = ops.where(target != -1, input, zeros)
    return reduce_loss(apart + near, reduction)


@autocast_policy("fp32")
def margin_ranking_loss(
    input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"
):
    """``max(0, -target * (input1 - input2) + margin)``."""
    reduction = _reduction_of(reduction, size_average, reduce)
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    loss = (-target * (input1 - input2) + margin).clamp(min=0)
    return reduce_loss(loss, reduction)


@autocast_policy("fp32")
def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """``log(1 + exp(-target * input))``."""
    reduction = _reduction_of(reduction, size_average, reduce)
    return reduce_loss((input * -target).exp().log1p(), reduction)


def multilabel_soft_margin_loss(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean"
):
    """The mean over classes of the binary cross entropy of logits."""
    reduction = _reduction_of(reduction, size_average, reduce)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    loss = -(target * ops.log_sigmoid(input) + (1 - target) * ops.log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return reduce_loss(loss.sum(-1) / input.size(-1), reduction)


@autocast_policy("fp32")
def multi_margin_loss(
    input,
    target,
    p=1,
    margin=1.0,
    weight=None,
    size_average=None,
    reduce=None,
    reduction="mean",
):
    """``sum(max(0, margin - input[target] + input[i]) ** p) / C`` over the other classes i."""
    reduction = _reduction_of(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    if input.dim() > 2 or target.dim() > 1 or input.shape[-1:].numel() == 0:
        raise RuntimeError(
            "Expected non-empty vector or matrix with optional 0-dim batch size, "
            f"but got: {list(input.shape)}"
        )
    _check_class_dtype("multi_margin_loss", target)
    rows = input.reshape(1, -1) if input.dim() < 2 else input
    index = target.reshape(-1, 1)
    if index.shape[0] != rows.shape[0]:
        raise RuntimeError(
            f"inconsistent target size, expected {rows.shape[0]} but got {list(target.shape)}"
        )
    terms = (margin - rows.gather(1, index) + rows).clamp(min=0)
    if p == 2:
        terms = terms * terms
    if weight is not None:
        terms = terms * weight[index]
    losses = terms.scatter(1, index, 0).sum(1) / rows.shape[1]
    return reduce_loss(losses if target.dim() else losses.reshape(()), reduction)


@autocast_policy("fp32")
def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """``max(0, 1 - (input[j] - input[i])) / C`` over the target classes j and all others i.

    The classes of a row of target end at the first -1.
    """
    reduction = _reduction_of(reduction, size_average, reduce)
    if input.dim() > 2 or input.shape[-1:].numel() == 0:
        raise RuntimeError(
            "Expected non-empty vector or matrix with optional 0-dim batch size, "
            f"but got: {list(input.shape)}"
        )
    if target.shape != input.shape:
        raise RuntimeError(
            f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}"
        )
    _check_class_dtype("multilabel_margin_loss", target)
    rows = input.reshape(1, -1) if input.dim() < 2 else input
    classes = target.reshape(rows.shape)
    if (
        target.is_cpu
        and not _C._transform_level(target)
        and ((target < -1) | (target >= rows.shape[1])).any()
    ):
        raise RuntimeError(
            f"multilabel_margin_loss: target is out of range, expected classes from 0 to "
            f"{rows.shape[1] - 1} or -1"
        )
    listed = (classes < 0).cumsum(1) == 0
    index = classes.clamp(min=0)
    is_target = ops.zeros_like(rows).scatter_add(1, index, listed.to(rows.dtype)) > 0
    scores = rows.gather(1, index)
    terms = (1 - scores.unsqueeze(2) + rows.unsqueeze(1)).clamp(min=0)
    counted = listed.unsqueeze(2) & ~is_target.unsqueeze(1)
    losses = terms.masked_fill(~counted, 0).sum((1, 2)) / rows.shape[1]
    return reduce_loss(losses if input.dim() == 2 else losses.reshape(()), reduction)


@autocast_policy("fp32")
def cosine_embedding_loss(
    input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"
):
    """``1 - cos`` where target is 1, ``max(0, cos - margin)`` where it is -1."""
    reduction = _reduction_of(reduction, size_average, reduce)
    if target.dim() > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    expected = target.dim() + 1
    if input1.dim() != expected or input2.dim() != expected:
        raise RuntimeError(
            f"{target.dim()}D target tensor expects {expected}D input tensors, but found inputs "
            f"with sizes {list(input1.shape)} and {list(input2.shape)}."
        )
    eps = 1e-12
    products = (input1 * input2).sum(-1)
    squares = ((input1 * input1).sum(-1) + eps) * ((input2 * input2).sum(-1) + eps)
    cos = products / squares.sqrt()
    zeros = ops.zeros_like(cos)
    near = ops.where(target == 1, 1 - cos, zeros)
    apart = ops.where(target == -1, (cos - margin).clamp(min=0), zeros)
    return reduce_loss(near + apart, reduction)


@autocast_policy("fp32")
def triplet_margin_loss(
    anchor,
    positive,
    negative,
    margin=1.0,
    p=2,
    eps=1e-6,
    swap=False,
    size_average=None,
    reduce=None,
    reduction="mean",
):
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)`` with the p-norm distance.

    Args:
        swap: takes the distance of positive and negative where that is smaller.
    """
    reduction = _reduction_of(reduction, size_average, reduce)

    def distance(x, y):
        return pairwise_distance(x, y, p, eps)

    return _triplet_loss(anchor, positive, negative, distance, margin, swap, reduction)


def triplet_margin_with_distance_loss(
    anchor,
    positive,
    negative,
    *,
    distance_function=None,
    margin=1.0,
    swap=False,
    reduction="mean",
):
    """`triplet_margin_loss` with any distance; the default is `pairwise_distance`."""
    check_reduction(reduction)
    distance = distance_function or pairwise_distance
    return _triplet_loss(anchor, positive, negative, distance, margin, swap, reduction)


def _triplet_loss(anchor, positive, negative, distance, margin, swap, reduction):
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {anchor.dim()}D, positive {positive.dim()}D, and "
            f"negative {negative.dim()}D inputs"
        )
    near = distance(anchor, positive)
    far = distance(anchor, negative)
    if swap:
        far = ops.minimum(far, distance(positive, negative))
    return reduce_loss((margin + near - far).clamp(min=0), reduction)
