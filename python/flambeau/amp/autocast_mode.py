"""Regions in which operators choose their dtype, and functions that take part in them."""

from __future__ import annotations

import functools
import warnings
from collections import abc

from flambeau import _C, _switches

_DTYPES = (_C.bfloat16, _C.float16)


def _require_name(device_type):
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def is_autocast_available(device_type):
    """Whether the device type knows autocast.

    Example:
        >>> flambeau.amp.is_autocast_available("cpu")
        True
    """
    _require_name(device_type)
    name = device_type.partition(":")[0]
    if name in _switches._DEVICE_TYPES.split(", "):
        return name == "cpu" or name in _switches._AUTOCAST_DTYPES
    _switches._device_name(device_type, "is_autocast_available")  # says what it could be
    return False


class autocast:
    """Context manager and decorator: matrix products and convolutions run in ``dtype``, losses,
    Fourier transforms and factorisations in float32, and those that take several tensors in the
    widest dtype among them. Anything else runs in the dtype it is given.

    Args: ``device_type``; ``dtype`` bfloat16 (the default on the cpu) or float16; ``enabled``;
    ``cache_enabled``, whether a float32 weight is cast once for the whole of the outermost region.

    Example:
        >>> with flambeau.autocast("cpu", dtype=flambeau.bfloat16):
        ...     y = flambeau.ones(2, 2) @ flambeau.ones(2, 2)
        >>> y.dtype
        torch.bfloat16
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        _require_name(device_type)
        self.device = device_type
        self.fast_dtype = _switches.get_autocast_dtype(device_type) if dtype is None else dtype
        if not is_autocast_available(device_type):
            raise RuntimeError(
                f"User specified an unsupported autocast device_type '{device_type}'"
            )
        self._cache_enabled = _C._get_autocast_cache() if cache_enabled is None else cache_enabled
        self._enabled = bool(enabled) and self._usable()
        self._before = []
        self._last = None

    def _usable(self):
        """Whether the region can have an effect; warns where it was asked for one."""
        if self.device.partition(":")[0] == "cuda":
            text = "CUDA is not available or torch_xla is imported. Disabling autocast."
        elif self.fast_dtype not in _DTYPES:
            name = self.device.upper()
            text = (
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{name} Autocast only supports dtypes of {', '.join(map(str, _DTYPES))} currently."
            )
        else:
            return True
        warnings.warn(text, stacklevel=3)
        return False

    def __enter__(self):
        name = _switches._device_name(self.device, "autocast")
        before = (*_switches._read_autocast(name), _C._get_autocast_cache())
        _switches.set_autocast_cache_enabled(self._cache_enabled)  # refuses what is not a bool
        _switches._write_autocast(name, self._enabled, self.fast_dtype)
        _C._autocast_depth(1)
        self._before.append(before)
        return self

    def __exit__(self, *exc):
        if self._before:
            self._last = self._before.pop()
            if _C._autocast_depth(-1) == 0:
                _C._clear_autocast_cache()
        elif self._last is None:
            raise AttributeError("autocast: __exit__ without an __enter__: nothing to restore")
        enabled, dtype, cached = self._last  # once more, where it has been left already
        name = _switches._device_name(self.device, "autocast")
        _switches._write_autocast(name, enabled, dtype)
        _C._set_autocast_cache(cached)
        return False

    def __call__(self, func):
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. "
                "Did you mean to use autocast as a context manager? For example:\n"
                "    with torch.autocast(device_type=...):\n"
                "        output = model(input)"
            )
        return autocast_decorator(self, func)


def autocast_decorator(autocast_instance, func):
    """``func`` with its body inside the region."""

    @functools.wraps(func)
    def decorate_autocast(*args, **kwargs):
        with autocast_instance:
            return func(*args, **kwargs)

    decorate_autocast.__script_unsupported = "@autocast() decorator is not supported in script mode"
    return decorate_autocast


def _cast(value, device_type, dtype):
    """``value`` with the tensors in it that autocast may touch in ``dtype``."""
    if isinstance(value, _C.Tensor):
        eligible = (
            value.is_floating_point()
            and value.device.type == device_type
            and value.dtype != _C.float64
        )
        return value.to(dtype) if eligible else value
    # strings and NumPy arrays are iterable, but hold no tensors
    if isinstance(value, (str, bytes)) or hasattr(value, "__array_interface__"):
        return value
    if isinstance(value, abc.Mapping):
        return {
            _cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()
        }
    if isinstance(value, abc.Iterable):
        items = (_cast(v, device_type, dtype) for v in value)
        return type(value)(items) if isinstance(value, (list, tuple)) else items
    return value


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """Decorator for ``forward`` of an `autograd.Function`. With ``cast_inputs`` it runs without
    autocast, on floating-point tensors cast to that dtype, where it is called inside a region.

    Example:
        >>> class Product(flambeau.autograd.Function):
        ...     @staticmethod
        ...     @flambeau.amp.custom_fwd(device_type="cpu", cast_inputs=flambeau.float32)
        ...     def forward(ctx, a, b):
        ...         return a @ b
        >>> with flambeau.autocast("cpu"):
        ...     y = Product.apply(flambeau.ones(2, 2), flambeau.ones(2, 2))
        >>> y.dtype
        torch.float32
    """
    _require_name(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorate_fwd(*args, **kwargs):
        ctx, enabled = args[0], _switches.is_autocast_enabled(device_type)
        ctx._dtype = _switches.get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = enabled and cast_inputs is None
        if cast_inputs is None or not enabled:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(
                *_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs)
            )

    return decorate_fwd


def custom_bwd(bwd=None, *, device_type):
    """Decorator for ``backward`` of an `autograd.Function` whose ``forward`` has `custom_fwd`: it
    runs with the autocast that forward ran with, wherever ``backward()`` is called.
    """
    _require_name(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorate_bwd(*args, **kwargs):
        ctx = args[0]
        with autocast(device_type, ctx._dtype, ctx._fwd_used_autocast):
            return bwd(*args, **kwargs)

    return decorate_bwd


__all__ = [
    "autocast",
    "autocast_decorator",
    "custom_bwd",
    "custom_fwd",
    "is_autocast_available",
]
