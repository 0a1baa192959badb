"""Models with integers: parts."""

from __future__ import annotations

import flambeau.ao.quantization as _quantization

QConfigMapping = _quantization.QConfigMapping  # type: ignore[attr-defined]
get_default_qconfig_mapping = _quantization.get_default_qconfig_mapping  # type: ignore[attr-defined]
get_default_qat_qconfig_mapping = _quantization.get_default_qat_qconfig_mapping  # type: ignore[attr-defined]

__all__ = [
    "QConfigMapping",
    "get_default_qat_qconfig_mapping",
    "get_default_qconfig_mapping",
]
