"""Tracing to TorchScript: not built yet."""

from __future__ import annotations

import flambeau.jit as _jit
from flambeau._absent import declare
from flambeau.jit import TracerWarning, is_tracing

TopLevelTracedModule = _jit.TopLevelTracedModule  # type: ignore[attr-defined]
TracedModule = _jit.TracedModule  # type: ignore[attr-defined]
trace = _jit.trace  # type: ignore[attr-defined]
trace_module = _jit.trace_module  # type: ignore[attr-defined]

__all__ = [
    "TopLevelTracedModule",
    "TracedModule",
    "TracerWarning",
    "is_tracing",
    "trace",
    "trace_module",
]

declare(
    globals(),
    "TorchScript",
    functions="_get_trace_graph",
)
