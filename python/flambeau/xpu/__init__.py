"""XPU devices: this build has none, and says so, as PyTorch without them does."""

from __future__ import annotations

import importlib
from collections import OrderedDict

from flambeau import _no_device
from flambeau._no_device import StreamContext as StreamContext

_MESSAGE = "Torch not compiled with XPU enabled"
default_generators: tuple = ()


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


def _is_in_bad_fork():
    return False


def _is_compiled():
    return False


def is_bf16_supported(including_emulation=True):
    """Whether a device computes in bfloat16: there is none."""
    return False


def is_tf32_supported():
    """Whether a device computes in TF32: there is none."""
    return False


def get_arch_list():
    """What the build has kernels for: nothing."""
    return []


def get_gencode_flags():
    """The compiler's flags for `get_arch_list`."""
    return ""


def manual_seed(seed):
    """Accepted: there is no device to seed."""
    int(seed)


def manual_seed_all(seed):
    """Accepted: there is no device to seed."""
    int(seed)


def seed():
    """Accepted: there is no device to seed."""


def seed_all():
    """Accepted: there is no device to seed."""


def get_rng_state_all():
    """The states of all generators: there are none."""
    return []


def set_rng_state(new_state, device="xpu"):
    """Accepted: takes effect when there is a device."""


def set_rng_state_all(new_states):
    """Sets the states of all devices: there are none."""


def empty_cache():
    """Accepted: there is no cache."""


def set_stream(stream):
    """Makes a stream the current one; None changes nothing."""
    if stream is not None:
        raise AssertionError(_MESSAGE)


def stream(stream):
    """`StreamContext` as a function."""
    return StreamContext(stream)


class device(_no_device.device_context):
    """Context manager that makes a device the current one."""

    _error = AssertionError(_MESSAGE)


class device_of(device):
    """Context manager that makes the device of a tensor the current one."""

    def __init__(self, obj):
        super().__init__(obj.get_device() if obj.is_xpu else -1)


def memory_stats(device=None):
    """Counts of the allocator: there are none."""
    return OrderedDict()


def memory_stats_as_nested_dict(device=None):
    """Counts of the allocator: there are none."""
    return {}


def memory_allocated(device=None):
    """How many bytes tensors on a device take: 0."""
    return 0


def reset_peak_memory_stats(device=None):
    """Accepted: there is nothing to count."""


reset_accumulated_memory_stats = reset_peak_memory_stats
max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated
_needing = _no_device.raising(
    AssertionError,
    _MESSAGE,
    "can_device_access_peer current_device current_stream get_device_capability get_device_name"
    " get_device_properties get_per_process_memory_fraction get_rng_state get_stream_from_external"
    " graph_pool_handle init initial_seed is_current_stream_capturing make_graphed_callables"
    " mem_get_info memory_snapshot set_device set_per_process_memory_fraction synchronize"
    " utilization temperature power_draw clock_rate memory_usage device_memory_used"
    " change_current_allocator _lazy_init",
    __name__,
)
_needing |= _no_device.classes(
    RuntimeError,
    "Tried to instantiate dummy base class {}",
    "Event MemPool Stream XPUGraph XPUPluggableAllocator graph use_mem_pool",
    __name__,
)
globals().update(_needing)


def __getattr__(name):
    if name in ("memory", "random", "streams"):
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'torch.xpu' has no attribute '{name}'")


__all__ = sorted(
    [
        *(n for n in _needing if not n.startswith("_")),
        "StreamContext", "default_generators", "device", "device_count", "device_of", "empty_cache",
        "get_arch_list", "get_gencode_flags", "get_rng_state_all", "is_available",
        "is_bf16_supported", "is_initialized", "is_tf32_supported", "manual_seed",
        "manual_seed_all", "max_memory_allocated", "max_memory_reserved", "memory_allocated",
        "memory_reserved", "memory_stats", "memory_stats_as_nested_dict",
        "reset_accumulated_memory_stats", "reset_peak_memory_stats", "seed", "seed_all",
        "set_rng_state", "set_rng_state_all", "set_stream", "stream",
    ]
)  # fmt: skip
