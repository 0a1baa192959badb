"""Trials with spread tensors."""

from __future__ import annotations

import importlib

from flambeau._absent import declare

declare(
    globals(),
    "tensors spread over processes",
    functions="context_parallel implicit_replication local_map register_sharding",
)

_MODULES = {"_attention"}


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
