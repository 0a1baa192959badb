"""MTIA devices: this build has none, and says so, as PyTorch without them does."""

from __future__ import annotations

from flambeau import _no_device
from flambeau._no_device import StreamContext as StreamContext


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


def is_initialized():
    """Whether the devices' library was started: it never is."""
    return False


def _is_compiled():
    return False


def _is_in_bad_fork():
    return False


def is_bf16_supported(including_emulation=True):
    """Whether a device computes in bfloat16: there is none."""
    return False


def manual_seed(seed):
    """Accepted: there is no device to seed."""
    int(seed)


def manual_seed_all(seed):
    """Accepted: there is no device to seed."""
    int(seed)


def memory_allocated(device=None):
    """How many bytes tensors on a device take: 0."""
    return 0


def max_memory_allocated(device=None):
    """How many bytes tensors on a device took: 0."""
    return 0


def memory_stats(device=None):
    """Counts of the allocator: there are none."""
    return {}


def reset_peak_memory_stats(device=None):
    """Accepted: there is nothing to count."""


def stream(stream):
    """`StreamContext` as a function."""
    return StreamContext(stream)


class device(_no_device.device_context):
    """Context manager that makes a device the current one."""

    _error = RuntimeError("Cannot execute exchangeDevice() without MTIA backend.")


_needing = _no_device.raising(
    RuntimeError,
    "Cannot execute {}() without MTIA backend.",
    "attach_out_of_memory_observer current_device current_stream default_stream empty_cache"
    " get_device_capability get_device_properties graph_pool_handle record_memory_history"
    " set_device set_stream snapshot synchronize",
    __name__,
)
_needing |= _no_device.raising(
    AssertionError,
    "Torch not compiled with MTIA enabled",
    "get_rng_state get_rng_state_all init initial_seed seed seed_all set_rng_state"
    " set_rng_state_all",
    __name__,
)
_needing |= _no_device.classes(
    RuntimeError,
    "Tried to instantiate dummy base class {}",
    "Event MTIAGraph Stream graph",
    __name__,
)
globals().update(_needing)

__all__ = sorted(
    [
        *_needing, "StreamContext", "device", "device_count", "is_available", "is_bf16_supported",
        "is_initialized", "manual_seed", "manual_seed_all", "max_memory_allocated",
        "memory_allocated", "memory_stats", "reset_peak_memory_stats", "stream",
    ]
)  # fmt: skip
