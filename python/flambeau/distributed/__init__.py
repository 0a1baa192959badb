"""Training on several processes; so far groups have one.

Everything that needs no second process works: `init_process_group` with a world size of 1, the
collectives, `DistributedDataParallel`, device meshes of one device. Groups of more processes, and
the parts built on them (sharded training, pipelines, remote calls), raise `NotImplementedError`.
"""

from __future__ import annotations

import importlib
import os

from . import _collectives, _group
from ._collectives import *
from ._collectives import Work as Work
from ._group import (
    Backend,
    GroupMember,
    ProcessGroup,
    ReduceOp,
    default_pg_timeout,
    destroy_process_group,
    get_backend,
    get_backend_config,
    get_default_backend_for_device,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_pg_count,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_initialized,
    new_group,
    new_subgroups,
    new_subgroups_by_enumeration,
)
from ._store import FileStore, HashStore, PrefixStore, Store, TCPStore


class DistError(RuntimeError):
    """An error of communication."""


class DistBackendError(DistError):
    """An error of the library that moves the data."""


class DistNetworkError(DistError):
    """An error of the network."""


class DistStoreError(DistError):
    """An error of a store."""


class QueueEmptyError(DistStoreError):
    """A queue of a store is empty."""


def is_available():
    """Whether the package works: with one process it does.

    Example:
        >>> is_available(), is_initialized()
        (True, False)
    """
    return True


def is_gloo_available():
    """Whether groups may name this library: with one process they may."""
    return True


def is_nccl_available():
    """Whether the library is there: it is not."""
    return False


def is_mpi_available():
    """Whether the library is there: it is not."""
    return False


def is_ucc_available():
    """Whether the library is there: it is not."""
    return False


def is_xccl_available():
    """Whether the library is there: it is not."""
    return False


def is_backend_available(backend):
    """Whether groups may name a library.

    Example:
        >>> is_backend_available("gloo"), is_backend_available("nccl")
        (True, False)
    """
    return backend.lower() in ("gloo", "fake")


def is_torchelastic_launched():
    """Whether PyTorch's launcher started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


_MODULES = {
    "_composable", "_functional_collectives", "_shard", "_state_dict_utils", "_tensor",
    "algorithms", "autograd", "c10d_logger", "checkpoint", "constants", "device_mesh",
    "distributed_c10d", "elastic", "fsdp", "launcher", "nn", "optim", "pipelining", "remote_device",
    "rendezvous", "rpc", "run", "tensor", "utils",
}  # fmt: skip
_NAMES = {
    "DeviceMesh": "device_mesh",
    "init_device_mesh": "device_mesh",
    "rendezvous": "rendezvous",
    "register_rendezvous_handler": "rendezvous",
}


def __getattr__(name):
    if name in _NAMES:
        return getattr(importlib.import_module(f".{_NAMES[name]}", __name__), name)
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'torch.distributed' has no attribute '{name}'")


__all__ = [
    *(n for n, v in vars(_collectives).items()
      if getattr(v, "__module__", "") == _collectives.__name__ and not n.startswith("_")),
    "Backend", *_NAMES, "DistBackendError", "DistError", "DistNetworkError", "DistStoreError",
    "FileStore", "GroupMember", "HashStore", "PrefixStore", "ProcessGroup", "QueueEmptyError",
    "ReduceOp", "Store", "TCPStore", "default_pg_timeout", "destroy_process_group", "get_backend",
    "get_backend_config", "get_default_backend_for_device", "get_global_rank", "get_group_rank",
    "get_node_local_rank", "get_pg_count", "get_process_group_ranks", "get_rank",
    "get_world_size", "group", "init_process_group", "is_available",
    "is_backend_available", "is_gloo_available", "is_initialized", "is_mpi_available",
    "is_nccl_available", "is_torchelastic_launched", "is_ucc_available", "is_xccl_available",
    "new_group", "new_subgroups", "new_subgroups_by_enumeration",
]  # fmt: skip
