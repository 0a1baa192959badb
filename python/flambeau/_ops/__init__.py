"""The operator table. Importing this package fills `OPS` from the family files beside it."""

from __future__ import annotations

import importlib
import pathlib

from .table import OPS

FAMILIES = sorted(
    path.stem
    for path in pathlib.Path(__file__).parent.glob("*.py")
    if path.stem not in ("__init__", "table", "samples")
)
for _family in FAMILIES:
    importlib.import_module(f"{__name__}.{_family}")


def __getattr__(name):
    # `torch._ops` is where PyTorch has the classes of `torch.ops`
    if name in ("OpOverload", "OpOverloadPacket", "ops"):
        operators = importlib.import_module("flambeau.ops")
        return operators if name == "ops" else getattr(operators, name)
    raise AttributeError(f"module 'torch._ops' has no attribute '{name}'")


__all__ = ["FAMILIES", "OPS"]
