"""Marks for Intel's profiler: they are not written."""

from __future__ import annotations

from flambeau import _no_device

_FUNCTIONS = "mark range range_pop range_push"
globals().update(
    _no_device.raising(RuntimeError, "ITT functions not installed.", _FUNCTIONS, __name__)
)


def is_available():
    """Whether marks are written: no."""
    return False


__all__ = ["is_available", *_FUNCTIONS.split()]
