"""Events of the profiler."""

from __future__ import annotations

from flambeau._profile import Average as FunctionEventAvg
from flambeau._profile import Event as FunctionEvent
from flambeau._profile import EventList

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg"]
