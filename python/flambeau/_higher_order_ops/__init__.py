"""Control flow with functions."""

from __future__ import annotations

import importlib

from flambeau._symbolic import cond, while_loop

__all__ = ["cond", "while_loop"]


_MODULES = {"associative_scan", "flex_attention", "scan", "utils"}


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
