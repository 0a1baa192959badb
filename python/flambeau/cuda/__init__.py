"""CUDA devices: this build has none, and says so.

Questions are answered as for a machine without devices, seeds and caches are accepted, and what
needs a device raises what PyTorch without CUDA raises.
"""

from __future__ import annotations

import importlib
from collections import OrderedDict
from typing import Any

from flambeau import _no_device
from flambeau._errors import OutOfMemoryError as OutOfMemoryError
from flambeau._no_device import StreamContext as StreamContext

_MESSAGE = "Torch not compiled with CUDA enabled"
_MODULES = {
    "amp", "comm", "gds", "graphs", "jiterator", "memory", "nccl", "nvtx", "profiler", "random",
    "sparse", "streams", "tunable",
}  # fmt: skip

default_generators: tuple = ()
has_half = True
has_magma = False


def is_available():
    """Whether there is a device: no.

    Example:
        >>> is_available(), device_count(), is_initialized()
        (False, 0, False)
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


def is_current_stream_capturing():
    """Whether a graph of the device is being recorded: none is."""
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


def set_rng_state(new_state, device="cuda"):
    """Accepted: takes effect when there is a device."""


def set_rng_state_all(new_states):
    """Sets the states of all devices: there are none."""
    for state in new_states:
        set_rng_state(state)


def empty_cache():
    """Accepted: there is no cache."""


def set_device(device):
    """Raises, unless the index is negative, which means no device."""
    if not isinstance(device, int) or device >= 0:
        raise AssertionError(_MESSAGE)


def set_stream(stream):
    """Makes a stream the current one; None changes nothing."""
    if stream is not None:
        raise AssertionError(_MESSAGE)


def stream(stream):
    """`StreamContext` as a function."""
    return StreamContext(stream)


class device(_no_device.device_context):
    """Context manager that makes a device the current one."""

    _error = RuntimeError("PyTorch was compiled without CUDA support")


class device_of(device):
    """Context manager that makes the device of a tensor the current one."""

    def __init__(self, obj):
        super().__init__(obj.get_device() if obj.is_cuda else -1)


def memory_stats(device=None):
    """Counts of the allocator: there are none."""
    return OrderedDict()


def memory_stats_as_nested_dict(device=None):
    """Counts of the allocator: there are none."""
    return {}


def list_gpu_processes(device=None):
    """The processes on a device, as text."""
    return "pynvml module not found, please install nvidia-ml-py"


def memory_allocated(device=None):
    """How many bytes tensors on a device take: 0."""
    return 0


def reset_peak_memory_stats(device=None):
    """Accepted: there is nothing to count."""


reset_accumulated_memory_stats = reset_max_memory_allocated = reset_peak_memory_stats
reset_max_memory_cached = reset_accumulated_host_memory_stats = reset_peak_memory_stats
reset_peak_host_memory_stats = reset_peak_memory_stats
max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated
memory_cached = max_memory_cached = memory_allocated
host_memory_stats = memory_stats
host_memory_stats_as_nested_dict = memory_stats_as_nested_dict


def get_allocator_backend():
    """The kind of allocator that devices would have."""
    return "native"


class DeferredCudaCallError(Exception):
    """A call that waited for the devices' library has failed."""


class CudaError(RuntimeError):
    """An error of the devices' library."""


_needing: dict[str, Any] = _no_device.raising(
    AssertionError,
    _MESSAGE,
    "can_device_access_peer cudart current_blas_handle current_device current_stream default_stream"
    " get_device_capability get_device_name get_device_properties get_per_process_memory_fraction"
    " get_rng_state get_stream_from_external get_sync_debug_mode init initial_seed ipc_collect"
    " mem_get_info memory_snapshot memory_summary set_per_process_memory_fraction"
    " set_sync_debug_mode synchronize utilization temperature power_draw clock_rate memory_usage"
    " device_memory_used check_error caching_allocator_alloc caching_allocator_delete"
    " change_current_allocator graph_pool_handle make_graphed_callables _lazy_init",
    __name__,
)
_needing |= _no_device.classes(
    RuntimeError, "torch.cuda.{} requires CUDA support", "Stream ExternalStream", __name__
)
_needing |= _no_device.classes(
    RuntimeError,
    "Tried to instantiate dummy base class {}",
    "Event CUDAGraph GreenContext MemPool CUDAPluggableAllocator _CudaDeviceProperties graph"
    " use_mem_pool",
    __name__,
)
_TYPES = (
    "FloatTensor DoubleTensor HalfTensor BFloat16Tensor ByteTensor CharTensor ShortTensor IntTensor"
    " LongTensor BoolTensor"
).split()


class _TensorType(type):
    """isinstance() is False: no tensor lies on such a device."""

    def __call__(cls, *args, **kwargs):
        raise TypeError(f"type torch.cuda.{cls.__name__} not available. {_MESSAGE}.")


_needing |= {
    name: _TensorType(name, (), {"__module__": "torch.cuda", "is_cuda": True}) for name in _TYPES
}
globals().update(_needing)


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'torch.cuda' has no attribute '{name}'")


__all__ = sorted(
    [
        *(n for n in _needing if not n.startswith("_")),
        "CudaError", "DeferredCudaCallError", "OutOfMemoryError", "StreamContext",
        "default_generators", "device",
        "device_count", "device_of", "empty_cache", "get_allocator_backend", "get_arch_list",
        "get_gencode_flags", "get_rng_state_all", "has_half", "has_magma", "host_memory_stats",
        "host_memory_stats_as_nested_dict", "is_available", "is_bf16_supported",
        "is_current_stream_capturing", "is_initialized", "is_tf32_supported", "list_gpu_processes",
        "manual_seed", "manual_seed_all", "max_memory_allocated", "max_memory_cached",
        "max_memory_reserved", "memory_allocated", "memory_cached", "memory_reserved",
        "memory_stats", "memory_stats_as_nested_dict", "reset_accumulated_host_memory_stats",
        "reset_accumulated_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached",
        "reset_peak_host_memory_stats", "reset_peak_memory_stats", "seed", "seed_all",
        "set_device", "set_rng_state", "set_rng_state_all", "set_stream", "stream",
    ]
)  # fmt: skip
