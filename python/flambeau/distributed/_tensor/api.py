"""Spread tensors under their old module."""

from __future__ import annotations

from flambeau.distributed.tensor import DTensor, distribute_module, distribute_tensor

__all__ = ["DTensor", "distribute_module", "distribute_tensor"]
