"""What modules of devices say that this build has not: `cuda`, `xpu`, `mps`, `mtia`."""

from __future__ import annotations

from typing import Any


def raising(error, message, names, module):
    """Functions that raise; name -> function."""

    def make(name):
        def function(*args, **kwargs):
            raise error(message.format(name))

        function.__name__ = function.__qualname__ = name
        function.__module__ = module
        function.__doc__ = "Raises: this build has no such device."
        return function

    return {name: make(name) for name in names.split()}


def classes(error, message, names, module):
    """Classes that cannot be made; name -> class."""

    def make(name):
        def __new__(cls, *args, **kwargs):
            raise error(message.format(name))

        doc = "Cannot be made: this build has no such device."
        return type(name, (), {"__new__": __new__, "__module__": module, "__doc__": doc})

    return {name: make(name) for name in names.split()}


class StreamContext:
    """Context manager that makes a stream the current one; None changes nothing."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        return None

    def __exit__(self, *exc):
        return None


class device_context:
    """Context manager that makes a device the current one; -1 and None change nothing."""

    _error: Any = RuntimeError("there is no device")

    def __init__(self, device):
        self.idx = -1 if device is None else getattr(device, "index", device)

    def __enter__(self):
        if self.idx is None or (isinstance(self.idx, int) and self.idx < 0):
            return
        raise self._error

    def __exit__(self, *exc):
        return False
