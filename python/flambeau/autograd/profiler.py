"""Where the time goes, before `torch.profiler`: `profile` and `record_function`."""

from __future__ import annotations

import contextlib
import functools

from flambeau import _profile
from flambeau._profile import Event as FunctionEvent
from flambeau._profile import EventList


class record_function:
    """Context manager and decorator for a region with a name.

    Example:
        >>> with profile() as prof:
        ...     with record_function("region"):
        ...         pass
        >>> prof.key_averages()[0].key
        'region'
    """

    def __init__(self, name, args=None):
        self.name, self.args, self.record = name, args, None

    def __enter__(self):
        self.record = _profile.begin(self.name)
        return self

    def __exit__(self, *exc):
        _profile.end(self.record)

    def __call__(self, function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with type(self)(self.name, self.args):
                return function(*args, **kwargs)

        return wrapped


class profile:
    """Context manager that collects regions and forward passes of modules with their times."""

    def __init__(self, enabled=True, *, use_cuda=False, use_device=None, record_shapes=False,
                 with_flops=False, profile_memory=False, with_stack=False, with_modules=False,
                 use_kineto=False, use_cpu=True, **kwargs):  # fmt: skip
        self.enabled = enabled
        self.use_device, self.use_cuda = use_device, use_cuda
        self._recorder = _profile.Recorder()
        self.entered = False

    def __enter__(self):
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        self._recorder.start()
        return self

    def __exit__(self, *exc):
        if self.enabled:
            self._recorder.stop()
        return False

    @property
    def function_events(self):
        """The events."""
        return self._recorder.events

    @property
    def self_cpu_time_total(self):
        """Microseconds of all events."""
        return self.function_events.self_cpu_time_total

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, **kwargs):
        """Events of one name as one."""
        return self.function_events.key_averages()

    def total_average(self):
        """All events as one."""
        return self.function_events.total_average()

    def table(self, sort_by=None, row_limit=100, **kwargs):
        """The events as a table."""
        return self.function_events.table(sort_by, row_limit, **kwargs)

    def export_chrome_trace(self, path):
        """Writes the events as a trace for Chrome and Perfetto."""
        self.function_events.export_chrome_trace(path)

    def __repr__(self):
        return repr(self.function_events) if self.entered else "<unfinished profiler>"

    def __str__(self):
        return self.table() if self.entered else "<unfinished profiler>"


class emit_nvtx(contextlib.AbstractContextManager):
    """Marks for NVIDIA's profiler: this build has no such devices."""

    def __init__(self, enabled=True, record_shapes=False):
        self.enabled = enabled

    def __enter__(self):
        if self.enabled:
            raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")
        return self

    def __exit__(self, *exc):
        return False


class emit_itt(emit_nvtx):
    """Marks for Intel's profiler: they are not written."""

    def __enter__(self):
        if self.enabled:
            raise RuntimeError("ITT functions not installed.")
        return self


class KinetoStepTracker:
    """Counts steps."""

    _steps: dict[str, int] = {}

    @classmethod
    def init_step_count(cls, requester):
        """Starts a count."""
        cls._steps[requester] = cls.current_step()

    @classmethod
    def erase_step_count(cls, requester):
        """Ends a count; returns whether there was one."""
        return cls._steps.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester):
        """Counts a step."""
        cls._steps[requester] = cls._steps.get(requester, 0) + 1
        return cls.current_step()

    @classmethod
    def current_step(cls):
        """The largest count."""
        return max(cls._steps.values(), default=0)


def kineto_available():
    """Whether PyTorch's tracing library is there: regions are timed without it."""
    return False


__all__ = [
    "EventList", "FunctionEvent", "KinetoStepTracker", "emit_itt", "emit_nvtx", "profile",
    "record_function",
]  # fmt: skip
