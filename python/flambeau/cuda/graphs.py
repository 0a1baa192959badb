"""Recorded work of CUDA devices, of which there are none."""

from __future__ import annotations

import flambeau.cuda as _cuda

CUDAGraph = _cuda.CUDAGraph  # type: ignore[attr-defined]
graph = _cuda.graph  # type: ignore[attr-defined]
graph_pool_handle = _cuda.graph_pool_handle  # type: ignore[attr-defined]
is_current_stream_capturing = _cuda.is_current_stream_capturing  # type: ignore[attr-defined]
make_graphed_callables = _cuda.make_graphed_callables  # type: ignore[attr-defined]

__all__ = [
    "CUDAGraph",
    "graph",
    "graph_pool_handle",
    "is_current_stream_capturing",
    "make_graphed_callables",
]
