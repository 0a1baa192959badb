"""Models with integers: parts."""

from __future__ import annotations

import flambeau.ao.quantization as _quantization

convert = _quantization.convert  # type: ignore[attr-defined]
prepare = _quantization.prepare  # type: ignore[attr-defined]
prepare_qat = _quantization.prepare_qat  # type: ignore[attr-defined]
quantize = _quantization.quantize  # type: ignore[attr-defined]
quantize_dynamic = _quantization.quantize_dynamic  # type: ignore[attr-defined]
quantize_qat = _quantization.quantize_qat  # type: ignore[attr-defined]
swap_module = _quantization.swap_module  # type: ignore[attr-defined]
propagate_qconfig_ = _quantization.propagate_qconfig_  # type: ignore[attr-defined]

__all__ = [
    "convert",
    "prepare",
    "prepare_qat",
    "propagate_qconfig_",
    "quantize",
    "quantize_dynamic",
    "quantize_qat",
    "swap_module",
]
