"""Apple's profiler. Raises: this build has no such devices."""

from __future__ import annotations

from flambeau import _no_device

_FUNCTIONS = "metal_capture profile start stop"
globals().update(
    _no_device.raising(
        RuntimeError, "Cannot execute {}() without MPS backend.", _FUNCTIONS, __name__
    )
)


def is_metal_capture_enabled():
    """Whether work of the device is recorded: there is none."""
    return False


def is_capturing_metal():
    """Whether work of the device is recorded: there is none."""
    return False


__all__ = ["is_capturing_metal", "is_metal_capture_enabled", *_FUNCTIONS.split()]
