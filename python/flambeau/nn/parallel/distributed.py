"""`DistributedDataParallel`, which `flambeau.distributed` has."""

from __future__ import annotations

import importlib


def __getattr__(name):
    if name == "DistributedDataParallel":
        # by name: layers know nothing of the packages above them
        return getattr(importlib.import_module("flambeau.distributed._data_parallel"), name)
    raise AttributeError(f"module 'torch.nn.parallel.distributed' has no attribute '{name}'")


def __dir__():
    return ["DistributedDataParallel"]
