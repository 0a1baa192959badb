"""Kernels chosen by timing. Raises: this build has no CUDA devices."""

from __future__ import annotations

from flambeau import _no_device

_FUNCTIONS = (
    "enable tuning_enable tune_gemm_in_file read_file write_file get_results get_validators"
)
globals().update(
    _no_device.raising(AssertionError, "Torch not compiled with CUDA enabled", _FUNCTIONS, __name__)
)


def is_enabled():
    """Whether kernels are chosen by timing: there are none."""
    return False


def tuning_is_enabled():
    """Whether kernels are timed: there are none."""
    return False


__all__ = sorted(_FUNCTIONS.split())
