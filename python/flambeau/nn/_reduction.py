"""Names and numbers of reductions, and the flags that stood for them before."""

from __future__ import annotations

from ._functional_common import legacy_get_string

_ENUM = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}


def get_enum(reduction):
    """0, 1 or 2 for ``"none"``, ``"mean"`` or ``"sum"``; ValueError for other names."""
    if reduction not in _ENUM:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _ENUM[reduction]


def legacy_get_enum(size_average, reduce, emit_warning=True):
    """The number of the reduction that the old pair of flags meant."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
