"""Optimizers of several processes."""

from __future__ import annotations

import importlib

from flambeau._absent import declare

declare(
    globals(),
    "optimizers of several processes",
    classes="DistributedOptimizer PostLocalSGDOptimizer ZeroRedundancyOptimizer",
    functions=("_apply_optimizer_in_backward _get_in_backward_optimizers as_functional_optim"),
)

_MODULES = {"zero_redundancy_optimizer"}


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
