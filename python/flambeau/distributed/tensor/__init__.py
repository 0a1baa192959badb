"""Tensors spread over processes: not built yet; placements can be named."""

from __future__ import annotations

import importlib

from flambeau._absent import declare

from .placement_types import Partial, Placement, Replicate, Shard

__all__ = ["Partial", "Placement", "Replicate", "Shard"]

declare(
    globals(),
    "tensors spread over processes",
    classes="DTensor",
    functions=(
        "DTensor.from_local DTensor.full_tensor DTensor.redistribute DTensor.to_local"
        " distribute_module distribute_tensor empty full ones rand randn zeros"
    ),
)

_MODULES = {"_dtensor_spec", "device_mesh", "experimental", "parallel", "placement_types"}


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
