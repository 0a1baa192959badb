"""Autocast's policies for operators that are written in Python."""

from __future__ import annotations

import functools

from . import _C


def autocast_policy(policy):
    """Decorator: under autocast the function runs as one operator would, without autocast inside:
    on float32 arguments with "fp32", on those it is given with "none"."""
    policy_casts = policy == "fp32"

    def cast(value):
        low = isinstance(value, _C.Tensor) and value.dtype in (_C.bfloat16, _C.float16)
        return value.to(_C.float32) if low and policy_casts else value

    def decorate(function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            enabled, dtype = _C._get_autocast()
            if not enabled:
                return function(*args, **kwargs)
            _C._set_autocast(False, dtype)
            try:
                return function(*map(cast, args), **{k: cast(v) for k, v in kwargs.items()})
            finally:
                _C._set_autocast(True, dtype)

        return wrapped

    return decorate
