"""The small part of `__torch_function__` that `Tensor` itself needs; the rest is in `overrides`."""

from __future__ import annotations

from types import FunctionType

from . import _C

_overridable = _C._overridable


class DisableTorchFunctionSubclass:
    """Context manager: subclasses' overrides are not asked, modes are.

    >>> with flambeau.overrides.DisableTorchFunctionSubclass():
    ...     flambeau.overrides.has_torch_function_unary(flambeau.ones(1))
    False
    """

    def __enter__(self):
        self._before = _C._set_torch_function_enabled(False)

    def __exit__(self, *exc):
        _C._set_torch_function_enabled(self._before)
        return False


class DisableTorchFunction:
    """Context manager: neither subclasses nor modes are asked.

    >>> with flambeau.overrides.DisableTorchFunction():
    ...     flambeau.overrides.has_torch_function_unary(flambeau.ones(1))
    False
    """

    def __enter__(self):
        self._before = _C._set_torch_function_enabled(False)
        self._modes_before = _C._set_torch_function_modes_enabled(False)

    def __exit__(self, *exc):
        _C._set_torch_function_enabled(self._before)
        _C._set_torch_function_modes_enabled(self._modes_before)
        return False


def _disabled_torch_function_impl(cls, func, types, args=(), kwargs=None):
    """What a class assigns to ``__torch_function__`` to opt out."""
    return func(*args, **(kwargs or {}))


def let_override(namespace, names):
    """Lets `__torch_function__` see calls of functions written in Python.

    Of ``names``, those that are functions are replaced in ``namespace`` (a module's globals).
    """
    for name in names:
        function = namespace.get(name)
        if type(function) is FunctionType:
            namespace[name] = _overridable(function)


_C.DisableTorchFunction = DisableTorchFunction
_C.DisableTorchFunctionSubclass = DisableTorchFunctionSubclass
_C._disabled_torch_function_impl = _disabled_torch_function_impl
