"""Calls of functions in other processes."""

from __future__ import annotations

import importlib

from flambeau._absent import declare

declare(
    globals(),
    "remote calls",
    classes=("BackendType PyRRef RRef RemoteException TensorPipeRpcBackendOptions WorkerInfo"),
    functions="get_worker_info init_rpc remote rpc_async rpc_sync shutdown",
)


def is_available():
    """Whether remote calls work: not yet."""
    return False


_MODULES = {"api", "backend_registry"}


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
