"""Training whose parameters are spread over processes: not built yet; rules for wrapping work."""

from __future__ import annotations

import importlib

from . import fully_sharded_data_parallel as _fsdp
from ._fully_shard import (
    CPUOffloadPolicy,
    FSDPModule,
    MixedPrecisionPolicy,
    OffloadPolicy,
    UnshardHandle,
    fully_shard,
    register_fsdp_forward_method,
)
from .fully_sharded_data_parallel import *

_MODULES = {"_fully_shard", "api", "sharded_grad_scaler", "wrap"}


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'torch.distributed.fsdp' has no attribute '{name}'")


__all__ = [
    *_fsdp.__all__,
    "CPUOffloadPolicy", "FSDPModule", "MixedPrecisionPolicy", "OffloadPolicy", "UnshardHandle",
    "fully_shard", "register_fsdp_forward_method",
]  # fmt: skip
