"""Models with integers: parts."""

from __future__ import annotations

import flambeau.ao.quantization as _quantization

QConfig = _quantization.QConfig  # type: ignore[attr-defined]
get_default_qconfig = _quantization.get_default_qconfig  # type: ignore[attr-defined]
get_default_qat_qconfig = _quantization.get_default_qat_qconfig  # type: ignore[attr-defined]

__all__ = [
    "QConfig",
    "get_default_qat_qconfig",
    "get_default_qconfig",
]
