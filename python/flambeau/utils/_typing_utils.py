"""Helpers for annotations."""

from __future__ import annotations


def not_none(obj):
    """The value, which is not None."""
    if obj is None:
        raise TypeError("Invariant encountered: value was None when it should not be")
    return obj


def copy_func_params(source_func):
    """A decorator for annotations."""
    return lambda func: func
