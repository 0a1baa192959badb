"""One module on several devices. There is the CPU alone: modules run there, whole."""

from __future__ import annotations

from .data_parallel import DataParallel, data_parallel
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter

__all__ = [
    "DataParallel",
    "data_parallel",
    "gather",
    "parallel_apply",
    "replicate",
    "scatter",
]


def __getattr__(name):
    if name in ("DistributedDataParallel", "distributed"):
        import importlib

        module = importlib.import_module(".distributed", __name__)
        return module if name == "distributed" else getattr(module, name)
    raise AttributeError(f"module 'torch.nn.parallel' has no attribute '{name}'")
