"""Memory of XPU devices, of which there are none."""

from __future__ import annotations

import flambeau.xpu as _xpu

empty_cache = _xpu.empty_cache  # type: ignore[attr-defined]
max_memory_allocated = _xpu.max_memory_allocated  # type: ignore[attr-defined]
max_memory_reserved = _xpu.max_memory_reserved  # type: ignore[attr-defined]
mem_get_info = _xpu.mem_get_info  # type: ignore[attr-defined]
memory_allocated = _xpu.memory_allocated  # type: ignore[attr-defined]
memory_reserved = _xpu.memory_reserved  # type: ignore[attr-defined]
memory_stats = _xpu.memory_stats  # type: ignore[attr-defined]
memory_stats_as_nested_dict = _xpu.memory_stats_as_nested_dict  # type: ignore[attr-defined]
reset_accumulated_memory_stats = _xpu.reset_accumulated_memory_stats  # type: ignore[attr-defined]
reset_peak_memory_stats = _xpu.reset_peak_memory_stats  # type: ignore[attr-defined]

__all__ = [
    "empty_cache",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
]
