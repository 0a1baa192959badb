"""Counts of calls."""

from __future__ import annotations

import functools
from collections import OrderedDict

simple_call_counter: OrderedDict = OrderedDict()


def count_label(label):
    """Counts a label."""
    simple_call_counter[label] = simple_call_counter.get(label, 0) + 1


def count(fn):
    """Counts the calls of a function."""

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        count_label(fn.__qualname__)
        return fn(*args, **kwargs)

    return wrapper
