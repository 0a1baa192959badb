"""Layers in one."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "quantization",
    classes=(
        "BNReLU2d ConvBn1d ConvBn2d ConvBnReLU1d ConvBnReLU2d ConvReLU1d ConvReLU2d"
        " LinearBn1d LinearReLU _FusedModule"
    ),
)
