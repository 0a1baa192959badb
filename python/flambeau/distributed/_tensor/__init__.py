"""Spread tensors under their old module."""

from __future__ import annotations

import importlib

from flambeau.distributed.tensor import *
from flambeau.distributed.tensor import __all__ as __all__

_MODULES = {"api", "device_mesh", "experimental", "placement_types"}


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
