"""What compiled code needs when it runs."""

from __future__ import annotations

import importlib

_MODULES = {"cache_dir_utils", "hints"}


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
