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

__all__ = ["FAMILIES", "OPS"]
