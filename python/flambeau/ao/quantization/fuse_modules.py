"""Models with integers: parts."""

from __future__ import annotations

import flambeau.ao.quantization as _quantization

fuse_modules = _quantization.fuse_modules  # type: ignore[attr-defined]
fuse_modules_qat = _quantization.fuse_modules_qat  # type: ignore[attr-defined]

__all__ = [
    "fuse_modules",
    "fuse_modules_qat",
]
