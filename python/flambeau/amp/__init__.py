"""Automatic mixed precision: operators that gain run in a lower-precision dtype."""

from __future__ import annotations

import functools

from flambeau import _C


class autocast:
    """Context manager and decorator: matrix products and convolutions run in ``dtype``.

    Args: ``device_type`` "cpu" (others are accepted and do nothing); ``dtype`` bfloat16 (default)
    or float16; ``enabled``.
    """

    def __init__(self, device_type="cpu", dtype=None, enabled=True, cache_enabled=None):
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device, self.dtype = device_type, _C.bfloat16 if dtype is None else dtype
        self.enabled = enabled and device_type == "cpu"
        if self.enabled and self.dtype not in (_C.bfloat16, _C.float16):
            raise RuntimeError(
                f"autocast: dtype must be torch.bfloat16 or torch.float16 on cpu, got {self.dtype}"
            )

    def __enter__(self):
        self.before = _C._get_autocast()
        if self.device == "cpu":
            _C._set_autocast(self.enabled, self.dtype)
        return self

    def __exit__(self, *exc):
        _C._set_autocast(*self.before)
        return False

    def __call__(self, function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with autocast(self.device, self.dtype, self.enabled):
                return function(*args, **kwargs)

        return wrapped


def is_autocast_available(device_type):
    """Whether autocast has an effect for the device type."""
    return device_type == "cpu"


__all__ = ["autocast", "is_autocast_available"]
