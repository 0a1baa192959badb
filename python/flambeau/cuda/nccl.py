"""NVIDIA's library for several devices. Raises: this build has no CUDA devices."""

from __future__ import annotations

from flambeau import _no_device

_FUNCTIONS = "all_gather all_reduce broadcast init_rank reduce reduce_scatter unique_id version"
globals().update(
    _no_device.raising(AssertionError, "Torch not compiled with CUDA enabled", _FUNCTIONS, __name__)
)


def is_available(tensors):
    """Whether the library takes the tensors: it is not there."""
    return False


__all__ = sorted(_FUNCTIONS.split())
