"""The CPU under the names that modules of devices have: one device, which runs in order."""

from __future__ import annotations

import contextlib


def is_available():
    """Always True."""
    return True


def is_initialized():
    """Always True."""
    return True


def device_count():
    """Always 1."""
    return 1


def current_device():
    """Always "cpu"."""
    return "cpu"


def set_device(device):
    """Accepted: there is one device."""


def synchronize(device=None):
    """Returns at once: operators are done when they return."""


class Stream:
    """The order in which operators run; there is one."""

    def __init__(self, priority=-1):
        self.priority = priority

    def wait_stream(self, stream):
        """Returns at once."""

    def record_event(self):
        """Returns at once."""

    def wait_event(self, event):
        """Returns at once."""


class Event:
    """A point in a stream, which is passed when it is made."""

    def query(self):
        """Always True."""
        return True

    def record(self, stream=None):
        """Returns at once."""

    def synchronize(self):
        """Returns at once."""

    def wait(self, stream=None):
        """Returns at once."""


_stream = Stream()


def current_stream(device=None):
    """The stream of the innermost `stream` region."""
    return _stream


class StreamContext(contextlib.AbstractContextManager):
    """Context manager that makes ``stream`` the current one."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        global _stream
        self.before = _stream
        if self.stream is not None:
            _stream = self.stream

    def __exit__(self, *exc):
        global _stream
        _stream = self.before


def stream(stream):
    """`StreamContext` as a function."""
    return StreamContext(stream)


def __getattr__(name):
    if name == "amp":
        import importlib

        return importlib.import_module(".amp", __name__)
    raise AttributeError(f"module 'torch.cpu' has no attribute '{name}'")


__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "current_device",
    "current_stream",
    "device_count",
    "is_available",
    "is_initialized",
    "set_device",
    "stream",
    "synchronize",
]
