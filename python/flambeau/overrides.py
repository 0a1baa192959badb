"""The `__torch_function__` protocol."""

from __future__ import annotations

from . import _C
from ._C import Tensor


class DisableTorchFunctionSubclass:
    """Context manager: subclasses' overrides are not asked."""

    def __enter__(self):
        self._before = _C._set_torch_function_enabled(False)

    def __exit__(self, *exc):
        _C._set_torch_function_enabled(self._before)
        return False


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """Context manager: neither subclasses nor modes are asked."""


def has_torch_function(relevant_args):
    """Whether one of the arguments overrides operators."""
    return any(_C._has_torch_function(a) for a in relevant_args)


def has_torch_function_unary(obj):
    """Whether ``obj`` overrides operators."""
    return _C._has_torch_function(obj)


def has_torch_function_variadic(*args):
    """Whether one of the arguments overrides operators."""
    return has_torch_function(args)


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """Calls the overrides of ``relevant_args``, subclasses first, until one answers."""
    order: list = []
    for a in relevant_args:
        if not _C._has_torch_function(a) or any(type(a) is type(b) for b in order):
            continue
        at = next((i for i, b in enumerate(order) if issubclass(type(a), type(b))), len(order))
        order.insert(at, a)
    types = tuple(type(a) for a in order)
    for a in order:
        result = a.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    names = [f"{t.__module__}.{t.__qualname__}" for t in types]
    raise TypeError(
        f"no implementation found for '{public_api.__name__}' on types that implement "
        f"__torch_function__: {names}"
    )


def is_tensor_like(inp):
    """Whether ``inp`` is a Tensor or has the protocol."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
]
