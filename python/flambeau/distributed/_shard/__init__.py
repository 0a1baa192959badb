"""Tensors spread over processes, before DTensor."""

from __future__ import annotations

import importlib

from flambeau._absent import declare

declare(
    globals(),
    "sharded training",
    functions="load_with_process_group shard_module shard_parameter",
)

_MODULES = {"sharded_tensor", "sharding_spec"}


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
