"""Apple's devices: this build has none, and says so, as PyTorch without them does."""

from __future__ import annotations

import importlib

from flambeau import _no_device

# what PyTorch calls the functions in its messages
_CALLS = {
    "compile_shader": "compileShader",
    "current_allocated_memory": "getCurrentAllocatedMemory",
    "driver_allocated_memory": "getDriverAllocatedMemory",
    "empty_cache": "emptyCache",
    "get_rng_state": "getDefaultGenerator",
    "load_metallib": "loadMetallib",
    "recommended_max_memory": "getRecommendedMaxMemory",
    "seed": "getDefaultGenerator",
    "set_per_process_memory_fraction": "setMemoryFraction",
    "set_rng_state": "getDefaultGenerator",
    "synchronize": "deviceSynchronize",
    "Event": "acquireEvent",
}


def is_available():
    """Whether there is a device: no.

    Example:
        >>> is_available(), device_count()
        (False, 0)
    """
    return False


def device_count():
    """How many devices there are: none."""
    return 0


def _is_in_bad_fork():
    return False


def manual_seed(seed):
    """Accepted: there is no device to seed."""
    int(seed)


for _name, _call in _CALLS.items():
    _make = _no_device.classes if _name == "Event" else _no_device.raising
    globals().update(
        _make(RuntimeError, f"Cannot execute {_call}() without MPS backend.", _name, __name__)
    )


def __getattr__(name):
    if name in ("event", "profiler"):
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'torch.mps' has no attribute '{name}'")


__all__ = sorted([*_CALLS, "device_count", "is_available", "manual_seed"])
