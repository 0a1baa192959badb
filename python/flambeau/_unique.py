"""Unique values: one kernel, and the public signatures whose number of results depends on flags."""

from __future__ import annotations

from ._C import ops
from ._torch_function import let_override


def _chosen(results, return_inverse, return_counts):
    values, inverse, counts = results
    out = (values,) + (inverse,) * return_inverse + (counts,) * return_counts
    return out if len(out) > 1 else values


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """Different elements, or different slices along ``dim``, in ascending order.

    Args:
        sorted: accepted for compatibility; the result is sorted always.
        return_inverse: also return for each element the position of its value in the result.
        return_counts: also return how often each value occurs.

    >>> flambeau.unique(flambeau.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    return _chosen(ops._unique(input, False, dim), return_inverse, return_counts)


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The elements, or slices along ``dim``, without those equal to their predecessor.

    >>> flambeau.unique_consecutive(flambeau.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    return _chosen(ops._unique(input, True, dim), return_inverse, return_counts)


let_override(globals(), ["unique", "unique_consecutive"])
