"""Copies between CUDA devices. Raises: this build has no CUDA devices."""

from __future__ import annotations

from flambeau import _no_device

_FUNCTIONS = "broadcast broadcast_coalesced gather reduce_add reduce_add_coalesced scatter"
globals().update(
    _no_device.raising(AssertionError, "Torch not compiled with CUDA enabled", _FUNCTIONS, __name__)
)

__all__ = sorted(_FUNCTIONS.split())
