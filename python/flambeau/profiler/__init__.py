"""Where the time goes: regions that a program marks, and forward passes of modules.

There are no events of single operators. `record_function` marks a region, `profile` collects, and
`key_averages().table()` shows.
"""

from __future__ import annotations

import enum
import os
import socket
import time
from typing import Any

from flambeau import _profile
from flambeau._absent import absent_class
from flambeau.autograd.profiler import record_function


class ProfilerActivity(enum.Enum):
    """The devices that a profile is about."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """What a profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4


class DeviceType(enum.Enum):
    """Types of devices."""

    CPU = 0
    CUDA = 1


ExecutionTraceObserver = absent_class(
    "ExecutionTraceObserver", "traces of single operators", "torch.profiler"
)


def supported_activities():
    """The devices that a profile can be about.

    Example:
        >>> supported_activities()
        {<ProfilerActivity.CPU: 0>}
    """
    return {ProfilerActivity.CPU}


def kineto_available():
    """Whether PyTorch's tracing library is there: regions are timed without it."""
    return False


def _default_schedule_fn(_):
    return ProfilerAction.RECORD


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """A plan of steps: skip some, then wait, warm up and record, again and again.

    Example:
        >>> plan = schedule(wait=1, warmup=1, active=2, repeat=1)
        >>> [plan(step).name for step in range(5)]
        ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError("Invalid profiler schedule arguments")

    def plan(step):
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait != 0:
            step += wait
        length = wait + warmup + active
        if repeat > 0 and step // length >= repeat:
            return ProfilerAction.NONE
        at = step % length
        if at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return plan


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False):
    """A function for ``on_trace_ready`` that writes traces into a folder."""

    def handler(prof):
        os.makedirs(dir_name, exist_ok=True)
        name = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        suffix = ".gz" if use_gzip else ""
        file = f"{name}.{time.time_ns()}.pt.trace.json{suffix}"
        prof.export_chrome_trace(os.path.join(dir_name, file))

    return handler


class profile:
    """Context manager that collects regions and forward passes of modules with their times.

    Args:
        activities: the devices; times are those of the CPU.
        schedule: which steps are recorded; `step` ends one.
        on_trace_ready: called with the profiler when a recording ends.

    Example:
        >>> with profile() as prof:
        ...     with record_function("region"):
        ...         pass
        >>> prof.key_averages()[0].key, prof.key_averages()[0].count
        ('region', 1)
    """

    def __init__(self, *, activities=None, schedule=None, on_trace_ready=None, record_shapes=False,
                 profile_memory=False, with_stack=False, with_flops=False, with_modules=False,
                 experimental_config=None, execution_trace_observer=None, acc_events=False,
                 use_cuda=None, **kwargs):  # fmt: skip
        self.activities = set(activities) if activities is not None else supported_activities()
        self.schedule = schedule or _default_schedule_fn
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.record_shapes, self.profile_memory = record_shapes, profile_memory
        self.with_stack, self.with_flops, self.with_modules = with_stack, with_flops, with_modules
        self.step_num = 0
        self.current_action = self.schedule(0)
        self._recorder: Any = None
        self._last = _profile.EventList()
        self._region: Any = None
        self._metadata: dict[str, str] = {}

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exc):
        self.stop()
        return False

    def start(self):
        """Begins with the first step."""
        self._enter()
        if self.record_steps:
            self._region = _profile.begin(f"ProfilerStep#{self.step_num}")

    def stop(self):
        """Ends the last step."""
        _profile.end(self._region)
        self._region = None
        if self._recorder is not None:
            self._leave(True)

    def step(self):
        """Ends a step and begins the next, as the schedule says."""
        _profile.end(self._region)
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        if before == ProfilerAction.RECORD_AND_SAVE:
            self._leave(True)
        elif self.current_action in (ProfilerAction.NONE, ProfilerAction.WARMUP):
            self._leave(False)
        self._enter()
        self._region = (
            _profile.begin(f"ProfilerStep#{self.step_num}") if self.record_steps else None
        )

    def _enter(self):
        recording = self.current_action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if recording and self._recorder is None:
            self._recorder = _profile.Recorder()
            self._recorder.start()

    def _leave(self, save):
        if self._recorder is None:
            return
        self._recorder.stop()
        self._last, self._recorder = self._recorder.events, None
        if save and self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def events(self):
        """The events of the last recording."""
        return self._last if self._recorder is None else self._recorder.events

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, **kwargs):
        """Events of one name as one."""
        return self.events().key_averages()

    def export_chrome_trace(self, path):
        """Writes the events as a trace for Chrome and Perfetto; packed where the name says so."""
        if path.endswith(".gz"):
            import gzip

            plain = path.removesuffix(".gz")
            self.events().export_chrome_trace(plain)
            with open(plain, "rb") as file, gzip.open(path, "wb") as packed:
                packed.write(file.read())
            os.remove(plain)
            return
        self.events().export_chrome_trace(path)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Writes regions within regions, one path a line, with a metric."""
        with open(path, "w") as file:
            for event in self.events():
                names, at = [], event
                while at is not None:
                    names.append(at.name.replace(";", "_").replace(" ", "_"))
                    at = at.cpu_parent
                file.write(f"{';'.join(reversed(names))} {int(getattr(event, metric))}\n")

    def add_metadata(self, key, value):
        """Keeps a note."""
        self._metadata[key] = value

    def add_metadata_json(self, key, value):
        """Keeps a note in JSON."""
        self._metadata[key] = value

    def preset_metadata_json(self, key, value):
        """Keeps a note in JSON."""
        self._metadata[key] = value

    def toggle_collection_dynamic(self, enable, activities):
        """Begins or ends collecting within a step."""
        if enable:
            self.current_action = ProfilerAction.RECORD
            self._enter()
        else:
            self._leave(False)


_KinetoProfile = profile


def __getattr__(name):
    if name == "profiler":
        import importlib

        return importlib.import_module(".profiler", __name__)
    if name == "itt":
        import importlib

        return importlib.import_module(".itt", __name__)
    raise AttributeError(f"module 'torch.profiler' has no attribute '{name}'")


__all__ = [
    "DeviceType", "ExecutionTraceObserver", "ProfilerAction", "ProfilerActivity",
    "kineto_available", "profile", "record_function", "schedule", "supported_activities",
    "tensorboard_trace_handler",
]  # fmt: skip
