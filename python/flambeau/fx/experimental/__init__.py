"""Trials with graphs."""

from __future__ import annotations

import importlib

_MODULES = {
    "_config",
    "const_fold",
    "optimization",
    "proxy_tensor",
    "symbolic_shapes",
    "sym_node",
    "unification",
}


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
