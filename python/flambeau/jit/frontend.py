"""Source of TorchScript."""

from __future__ import annotations

from flambeau._absent import declare


class FrontendError(Exception):
    """A function is not TorchScript."""


class UnsupportedNodeError(FrontendError):
    """A statement is not TorchScript."""


class NotSupportedError(FrontendError):
    """An expression is not TorchScript."""


declare(
    globals(),
    "TorchScript",
    functions="get_jit_class_def get_jit_def",
)
