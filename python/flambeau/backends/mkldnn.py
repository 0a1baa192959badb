"""oneDNN, which computes convolutions; its switches are kept and change nothing."""

from __future__ import annotations

from ._flags import Precision, setters

VERBOSE_OFF = 0
VERBOSE_ON = 1
VERBOSE_ON_CREATION = 2

enabled = True
deterministic = False
allow_tf32 = False
fp32_precision = "none"
matmul = Precision(fp32_precision="none")
conv = Precision(fp32_precision="none")
rnn = Precision(fp32_precision="none")

set_flags, _ = setters(
    globals(),
    _enabled="enabled",
    _deterministic="deterministic",
    _allow_tf32="allow_tf32",
    _fp32_precision="fp32_precision",
)
_, flags = setters(
    globals(),
    enabled="enabled",
    deterministic="deterministic",
    allow_tf32="allow_tf32",
    fp32_precision="fp32_precision",
)


def is_available() -> bool:
    """Whether the build has oneDNN."""
    return True


def is_acl_available() -> bool:
    """Whether oneDNN has Arm's compute library: never."""
    return False


class verbose:
    """A context that would make oneDNN print its calls; accepted."""

    def __init__(self, level):
        self.level = level

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False
