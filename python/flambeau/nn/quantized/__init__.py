"""Layers of integers under their old names."""

from __future__ import annotations

import importlib

from flambeau.ao.nn.quantized import *
from flambeau.ao.nn.quantized import __all__ as __all__

_MODULES = {"dynamic"}


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
