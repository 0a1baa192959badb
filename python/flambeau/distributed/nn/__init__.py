"""Collectives with gradients."""

from __future__ import annotations

import importlib

from .functional import *
from .functional import __all__ as __all__

_MODULES = {"functional"}


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
