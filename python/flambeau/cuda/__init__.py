"""CUDA devices: this build has none, and says so."""

from __future__ import annotations


def is_available():
    """Always False in this build."""
    return False


def device_count():
    """Always 0 in this build."""
    return 0


def is_initialized():
    """Always False in this build."""
    return False


def manual_seed(seed):
    """Accepted: there is no device to seed."""


def manual_seed_all(seed):
    """Accepted: there is no device to seed."""


def empty_cache():
    """Accepted: there is no cache."""


def synchronize(device=None):
    """Raises: there is no device to wait for."""
    raise AssertionError("Torch not compiled with CUDA enabled")


def current_device():
    """Raises: there is no device."""
    raise AssertionError("Torch not compiled with CUDA enabled")


def __getattr__(name):
    if name == "amp":
        import importlib

        return importlib.import_module(".amp", __name__)
    raise AttributeError(f"module 'torch.cuda' has no attribute '{name}'")


__all__ = [
    "current_device",
    "device_count",
    "empty_cache",
    "is_available",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "synchronize",
]
