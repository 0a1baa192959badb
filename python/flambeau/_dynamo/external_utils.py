"""Helpers that compiled code calls; without a compiler, plain functions."""

from __future__ import annotations

import functools

from ._marks import is_compiling as is_compiling


def wrap_inline(fn):
    """A function that calls another."""

    @functools.wraps(fn)
    def inner(*args, **kwargs):
        return fn(*args, **kwargs)

    return inner
