"""Streams and events of any device: operators on the CPU are done when they return."""

from __future__ import annotations

import importlib
import time

from . import _C

_DEVICES = ("cpu", "cuda", "xpu", "mps", "mtia")


def _device(device):
    """The device of a stream: the CPU, the one there is."""
    name = str("cpu" if device is None else device)
    kind = name.partition(":")[0]
    if kind != "cpu":
        raise RuntimeError(f"PyTorch is not linked with support for {kind} devices")
    return _C.device("cpu")


class Stream:
    """The order in which operators run on a device.

    Example:
        >>> Stream("cpu").query()
        True
    """

    def __init__(self, device=None, *, priority=0, stream_id=0, device_index=-1, device_type=None):
        self.device = _device(device)
        self.stream_id, self.device_index, self.device_type = 0, -1, 0

    def __repr__(self):
        return "torch.Stream device_type=cpu, device_index=-1, stream_id=0"

    def __eq__(self, other):
        return isinstance(other, Stream)

    def __hash__(self):
        return hash((0, -1, 0))

    def query(self):
        """Whether all work is done: it is."""
        return True

    def synchronize(self):
        """Returns at once."""

    def wait_stream(self, stream):
        """Returns at once."""

    def wait_event(self, event):
        """Returns at once."""

    def record_event(self, event=None):
        """An event at this point."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def is_capturing(self):
        """Whether work is recorded: never."""
        return False

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return None


class Event:
    """A point in a stream.

    Example:
        >>> Event("cpu").query()
        True
    """

    def __init__(self, device=None, *, enable_timing=False, blocking=False, interprocess=False):
        self.device = _device(device)
        self.event_id = 0
        self._timing, self._time = enable_timing, None

    def __repr__(self):
        return "torch.Event device_type=cpu, device_index=-1, event_flag=0, event_id=0"

    def query(self):
        """Whether the point is passed: it is."""
        return True

    def record(self, stream=None):
        """Puts the event at this point."""
        self._time = time.perf_counter()

    def synchronize(self):
        """Returns at once."""

    def wait(self, stream=None):
        """Returns at once."""

    def elapsed_time(self, end_event):
        """Milliseconds to another event; both must be made with ``enable_timing``."""
        if not (self._timing and end_event._timing):
            raise ValueError("both events must be made with 'enable_timing=True'")
        if self._time is None or end_event._time is None:
            raise RuntimeError("both events must be recorded before calculating elapsed time")
        return (end_event._time - self._time) * 1e3


def get_device_module(device=None):
    """The module of a type of device: `cpu`, `cuda`, …; that of the CPU by default.

    Example:
        >>> get_device_module("cuda").is_available()
        False
    """
    if isinstance(device, _C.device):
        name = device.type
    elif device is None:
        name = "cpu"
    else:
        name = str(device).partition(":")[0]
        from ._switches import _DEVICE_TYPES

        if name not in _DEVICE_TYPES.split(", "):
            raise RuntimeError(
                f"Expected one of {_DEVICE_TYPES} device type at start of device string: {device}"
            )
    if name not in _DEVICES:
        raise RuntimeError(
            f"Device '{name}' does not have a corresponding module registered as 'torch.{name}'."
        )
    return importlib.import_module(f".{name}", __package__)
