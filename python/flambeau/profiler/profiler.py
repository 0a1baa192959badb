"""The profiler under PyTorch's module."""

from __future__ import annotations

from . import (
    ExecutionTraceObserver,
    ProfilerAction,
    _default_schedule_fn,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)
from . import _KinetoProfile as _KinetoProfile

__all__ = [
    "ExecutionTraceObserver", "ProfilerAction", "_default_schedule_fn", "profile", "schedule",
    "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip
