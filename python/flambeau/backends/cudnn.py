"""cuDNN, which this build has not: its switches are kept and change nothing."""

from __future__ import annotations

from ._flags import Precision, setters

enabled = True
benchmark = False
benchmark_limit = None
deterministic = False
allow_tf32 = True
fp32_precision = "none"
conv = Precision(fp32_precision="none")
rnn = Precision(fp32_precision="none")

set_flags, _ = setters(
    globals(),
    _enabled="enabled",
    _benchmark="benchmark",
    _benchmark_limit="benchmark_limit",
    _deterministic="deterministic",
    _allow_tf32="allow_tf32",
    _fp32_precision="fp32_precision",
)
_, flags = setters(
    globals(),
    enabled="enabled",
    benchmark="benchmark",
    benchmark_limit="benchmark_limit",
    deterministic="deterministic",
    allow_tf32="allow_tf32",
    fp32_precision="fp32_precision",
)


def version():
    """None: there is no cuDNN."""


def is_available() -> bool:
    """Whether there is a cuDNN: never."""
    return False


def is_acceptable(tensor) -> bool:
    """Whether cuDNN could work on a tensor: never."""
    return False
