"""Models with integers: parts."""

from __future__ import annotations

import flambeau.ao.quantization as _quantization

DeQuantStub = _quantization.DeQuantStub  # type: ignore[attr-defined]
QuantStub = _quantization.QuantStub  # type: ignore[attr-defined]
QuantWrapper = _quantization.QuantWrapper  # type: ignore[attr-defined]

__all__ = [
    "DeQuantStub",
    "QuantStub",
    "QuantWrapper",
]
