"""A default device for a region of the program."""

from __future__ import annotations

from flambeau import _C
from flambeau._functional import get_default_device, set_default_device


class DeviceContext:
    """Context manager in which tensors are made on a device.

    Example:
        >>> import flambeau
        >>> with DeviceContext("cpu"):
        ...     flambeau.ones(1).device
        device(type='cpu')
    """

    def __init__(self, device):
        self.device = _C.device(device)
        self._before: list = []

    def __enter__(self):
        self._before.append(get_default_device())
        set_default_device(self.device)
        return self

    def __exit__(self, *exc):
        set_default_device(self._before.pop())


def set_device(device):
    """A decorator: the function makes tensors on a device."""

    def decorate(function):
        import functools

        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with DeviceContext(device):
                return function(*args, **kwargs)

        return wrapped

    return decorate
