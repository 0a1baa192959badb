"""Memory of CUDA devices, of which there are none."""

from __future__ import annotations

import flambeau.cuda as _cuda

CUDAPluggableAllocator = _cuda.CUDAPluggableAllocator  # type: ignore[attr-defined]
MemPool = _cuda.MemPool  # type: ignore[attr-defined]
empty_cache = _cuda.empty_cache  # type: ignore[attr-defined]
get_allocator_backend = _cuda.get_allocator_backend  # type: ignore[attr-defined]
list_gpu_processes = _cuda.list_gpu_processes  # type: ignore[attr-defined]
max_memory_allocated = _cuda.max_memory_allocated  # type: ignore[attr-defined]
max_memory_cached = _cuda.max_memory_cached  # type: ignore[attr-defined]
max_memory_reserved = _cuda.max_memory_reserved  # type: ignore[attr-defined]
mem_get_info = _cuda.mem_get_info  # type: ignore[attr-defined]
memory_allocated = _cuda.memory_allocated  # type: ignore[attr-defined]
memory_cached = _cuda.memory_cached  # type: ignore[attr-defined]
memory_reserved = _cuda.memory_reserved  # type: ignore[attr-defined]
memory_snapshot = _cuda.memory_snapshot  # type: ignore[attr-defined]
memory_stats = _cuda.memory_stats  # type: ignore[attr-defined]
memory_stats_as_nested_dict = _cuda.memory_stats_as_nested_dict  # type: ignore[attr-defined]
memory_summary = _cuda.memory_summary  # type: ignore[attr-defined]
reset_accumulated_memory_stats = _cuda.reset_accumulated_memory_stats  # type: ignore[attr-defined]
reset_max_memory_allocated = _cuda.reset_max_memory_allocated  # type: ignore[attr-defined]
reset_max_memory_cached = _cuda.reset_max_memory_cached  # type: ignore[attr-defined]
reset_peak_memory_stats = _cuda.reset_peak_memory_stats  # type: ignore[attr-defined]
set_per_process_memory_fraction = _cuda.set_per_process_memory_fraction  # type: ignore[attr-defined]
use_mem_pool = _cuda.use_mem_pool  # type: ignore[attr-defined]
change_current_allocator = _cuda.change_current_allocator  # type: ignore[attr-defined]


def _record_memory_history(*args, **kwargs):
    """Accepted: there is no history."""


__all__ = [
    "CUDAPluggableAllocator",
    "MemPool",
    "change_current_allocator",
    "empty_cache",
    "get_allocator_backend",
    "list_gpu_processes",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
    "use_mem_pool",
]
