"""Borders around the last one, two or three dimensions."""

from __future__ import annotations

from flambeau.nn import functional as F

from .module import Module
from .utils import _ntuple

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _PadNd(Module):
    """Amounts (left, right) of the last dimension, then of the one before, and so on."""

    __constants__ = ["padding"]
    _amounts = 2
    _mode = "constant"

    def __init__(self, padding) -> None:
        super().__init__()
        self.padding = _ntuple(self._amounts)(padding)

    def forward(self, input):
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def _check_input_dim(self, input):
        n = self._amounts // 2 + 1
        if input.dim() not in (n, n + 1):
            raise ValueError(f"expected {n}D or {n + 1}D input (got {input.dim()}D input)")

    def forward(self, input):
        self._check_input_dim(input)
        return F.pad(input, self.padding, "circular")


class _ConstantPadNd(_PadNd):
    __constants__ = ["padding", "value"]

    def __init__(self, padding, value) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class CircularPad1d(_CircularPadNd):
    """The other end of the last dimension repeated as a border."""


class CircularPad2d(_CircularPadNd):
    """The other end of the last two dimensions repeated as a border."""

    _amounts = 4


class CircularPad3d(_CircularPadNd):
    """The other end of the last three dimensions repeated as a border."""

    _amounts = 6


class ConstantPad1d(_ConstantPadNd):
    """One value as a border of the last dimension."""


class ConstantPad2d(_ConstantPadNd):
    """One value as a border of the last two dimensions."""

    _amounts = 4


class ConstantPad3d(_ConstantPadNd):
    """One value as a border of the last three dimensions."""

    _amounts = 6


class ReflectionPad1d(_ReflectionPadNd):
    """The mirror image of the last dimension as a border."""


class ReflectionPad2d(_ReflectionPadNd):
    """The mirror image of the last two dimensions as a border."""

    _amounts = 4


class ReflectionPad3d(_ReflectionPadNd):
    """The mirror image of the last three dimensions as a border."""

    _amounts = 6


class ReplicationPad1d(_ReplicationPadNd):
    """The edge of the last dimension repeated as a border."""


class ReplicationPad2d(_ReplicationPadNd):
    """The edge of the last two dimensions repeated as a border."""

    _amounts = 4


class ReplicationPad3d(_ReplicationPadNd):
    """The edge of the last three dimensions repeated as a border."""

    _amounts = 6


class ZeroPad1d(ConstantPad1d):
    """Zeros as a border of the last dimension."""

    def __init__(self, padding) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """Zeros as a border of the last two dimensions."""

    def __init__(self, padding) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """Zeros as a border of the last three dimensions."""

    def __init__(self, padding) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"
