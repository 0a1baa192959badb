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


class TorchFunctionMode:
    """Context manager whose ``__torch_function__`` sees every call of a public function.

    Calls that it makes itself go to the modes outside it.

    >>> class Names(overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> with Names():
    ...     x = flambeau.exp(flambeau.zeros(2))
    zeros
    exp
    """

    inner: TorchFunctionMode

    def __init__(self) -> None:
        pass

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        _C._push_on_torch_function_stack(self)
        return self

    def __exit__(self, exc_type, exc_val, exc_tb):
        _C._pop_torch_function_stack()

    @classmethod
    def push(cls, *args, **kwargs):
        """Older spelling of making an instance."""
        import warnings

        warnings.warn(
            "`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`",
            stacklevel=2,
        )
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that only passes calls on."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def _push_mode(mode):
    _C._push_on_torch_function_stack(mode)


def _pop_mode():
    return _C._pop_torch_function_stack()


class _pop_mode_temporarily:
    """Context manager: without the innermost mode, which it gives."""

    def __enter__(self):
        self._mode = _pop_mode()
        return self._mode

    def __exit__(self, *exc):
        _push_mode(self._mode)


def _get_current_function_mode_stack():
    return [_C._get_function_stack_at(i) for i in range(_C._len_torch_function_stack())]


def _get_current_function_mode():
    stack = _get_current_function_mode_stack()
    return stack[-1] if stack else None


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
