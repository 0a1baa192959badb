"""Helpers of the compiler."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "the compiler",
    functions="run_and_get_code run_and_get_triton_code",
)


def is_gpu(device):
    """Whether a device type is one of other devices."""
    return device in ("cuda", "xpu", "mps", "mtia")
