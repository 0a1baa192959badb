"""Models with integers: parts."""

from __future__ import annotations

import flambeau.ao.quantization as _quantization

FakeQuantize = _quantization.FakeQuantize  # type: ignore[attr-defined]
FakeQuantizeBase = _quantization.FakeQuantizeBase  # type: ignore[attr-defined]
FusedMovingAvgObsFakeQuantize = _quantization.FusedMovingAvgObsFakeQuantize  # type: ignore[attr-defined]

__all__ = [
    "FakeQuantize",
    "FakeQuantizeBase",
    "FusedMovingAvgObsFakeQuantize",
]
