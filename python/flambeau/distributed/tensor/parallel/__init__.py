"""Layers spread over processes."""

from __future__ import annotations

import importlib

from flambeau._absent import declare

declare(
    globals(),
    "tensors spread over processes",
    classes=(
        "ColwiseParallel ParallelStyle PrepareModuleInput PrepareModuleInputOutput"
        " PrepareModuleOutput RowwiseParallel SequenceParallel"
    ),
    functions="loss_parallel parallelize_module",
)

_MODULES = {"style", "api"}


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
