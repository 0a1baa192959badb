"""What the parts of `nn.functional` share: tuples of sizes and names of reductions."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from itertools import repeat


def _ntuple(n, name="parse"):
    def parse(x):
        if isinstance(x, Iterable):
            return tuple(x)
        return tuple(repeat(x, n))

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t, n):
    """Each element n times, the last first: the order in which `pad` takes its amounts."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size, defaults):
    """Sizes where None stands for the input's."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    return [v if v is not None else d for v, d in zip(out_size, defaults[-len(out_size) :])]


def legacy_get_string(size_average, reduce, emit_warning=True):
    """The reduction that the old pair of flags meant."""
    size_average = True if size_average is None else size_average
    reduce = True if reduce is None else reduce
    name = ("mean" if size_average else "sum") if reduce else "none"
    if emit_warning:
        warnings.warn(
            "size_average and reduce args will be deprecated, please use "
            f"reduction='{name}' instead.",
            stacklevel=3,
        )
    return name


def check_reduction(reduction):
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")


def reduce_loss(loss, reduction):
    """The losses of the elements, their mean or their sum."""
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    check_reduction(reduction)
    return loss
