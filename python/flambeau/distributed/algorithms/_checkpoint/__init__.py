"""Checkpointing of activations."""

from __future__ import annotations

import importlib

_MODULES = {"checkpoint_wrapper"}


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
