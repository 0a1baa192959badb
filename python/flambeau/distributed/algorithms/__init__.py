"""Algorithms of training on several processes."""

from __future__ import annotations

import importlib

_MODULES = {"_checkpoint", "ddp_comm_hooks", "join", "model_averaging"}


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
