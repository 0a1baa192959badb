"""A mark that says how stable a name is."""

from __future__ import annotations


def compatibility(is_backward_compatible):
    """A decorator that changes nothing."""
    return lambda fn: fn
