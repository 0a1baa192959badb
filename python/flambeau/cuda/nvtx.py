"""Marks for NVIDIA's profiler: this build has no devices to profile."""

from __future__ import annotations

import contextlib

from flambeau import _no_device

globals().update(
    _no_device.raising(
        RuntimeError,
        "NVTX functions not installed. Are you sure you have a CUDA build?",
        "mark range_pop range_push range_start range_end",
        __name__,
    )
)


@contextlib.contextmanager
def range(msg, *args, **kwargs):
    """Context of a range; raises as `range_push` does."""
    globals()["range_push"](msg)
    yield


__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]  # noqa: F822
