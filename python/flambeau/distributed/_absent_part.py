"""Tensors that a collective has yet to fill: here collectives are done when they return."""

from __future__ import annotations

from flambeau._absent import absent_class

AsyncCollectiveTensor = absent_class(
    "AsyncCollectiveTensor", "collectives in the background", "torch.distributed"
)
