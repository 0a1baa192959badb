"""Context managers (and decorators) that switch recording of history on and off."""

from __future__ import annotations

import functools
from _thread import _local as _Local  # threading itself takes long to import

from flambeau import _C


class _Mode:
    """A context manager that also decorates functions and generator functions."""

    def clone(self):
        return type(self)()

    def __call__(self, function):
        if getattr(getattr(function, "__code__", None), "co_flags", 0) & 0x20:
            return self._wrap_generator(function)

        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with self.clone():
                return function(*args, **kwargs)

        return wrapped

    def _wrap_generator(self, function):
        # the mode holds while the generator's body runs, not while it waits
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            generator = function(*args, **kwargs)
            step, value = generator.send, None
            while True:
                try:
                    with self.clone():
                        item = step(value)
                except StopIteration as stop:
                    return stop.value
                try:
                    value = yield item
                    step = generator.send
                except GeneratorExit:
                    with self.clone():
                        generator.close()
                    raise
                except BaseException as error:
                    value, step = error, generator.throw

        return wrapped


class no_grad(_Mode):
    """No history is recorded inside.

    >>> x = flambeau.ones(2, requires_grad=True)
    >>> with flambeau.no_grad():
    ...     (x * 2).requires_grad
    False
    """

    def __new__(cls, function=None):
        self = super().__new__(cls)
        return self if function is None else cls().__call__(function)

    def __init__(self, function=None):
        pass

    def __enter__(self):
        self.before = _C.is_grad_enabled()
        _C._set_grad_enabled(False)

    def __exit__(self, *exc):
        _C._set_grad_enabled(self.before)


class enable_grad(no_grad):
    """History is recorded inside, also within no_grad."""

    def __enter__(self):
        self.before = _C.is_grad_enabled()
        _C._set_grad_enabled(True)


class set_grad_enabled(_Mode):
    """Recording on or off from now on, or inside a ``with``."""

    def __init__(self, mode):
        self.before, self.mode = _C.is_grad_enabled(), mode
        _C._set_grad_enabled(bool(mode))

    def __call__(self, function):
        _C._set_grad_enabled(self.before)
        return super().__call__(function)

    def __enter__(self):
        _C._set_grad_enabled(bool(self.mode))

    def __exit__(self, *exc):
        _C._set_grad_enabled(self.before)

    def clone(self):
        return type(self)(self.mode)


class inference_mode(_Mode):
    """As no_grad, and without view tracking."""

    def __new__(cls, mode=True):
        self = super().__new__(cls)
        if callable(mode):
            self.mode = True
            return self.__call__(mode)
        return self

    def __init__(self, mode=True):
        self.mode = mode

    def __enter__(self):
        self.before = _C.is_inference_mode_enabled(), _C.is_grad_enabled()
        _C._set_inference_mode(bool(self.mode))
        _C._set_grad_enabled(not self.mode)

    def __exit__(self, *exc):
        _C._set_inference_mode(self.before[0])
        _C._set_grad_enabled(self.before[1])

    def clone(self):
        return type(self)(self.mode)


_multithreading = _Local()


def is_multithreading_enabled():
    """What set_multithreading_enabled set in this thread; backward runs in the calling thread."""
    return getattr(_multithreading, "enabled", True)


class set_multithreading_enabled(_Mode):
    """Accepted for compatibility: backward runs in the calling thread."""

    def __init__(self, mode):
        self.before, self.mode = is_multithreading_enabled(), bool(mode)
        _multithreading.enabled = self.mode

    def __call__(self, function):
        _multithreading.enabled = self.before
        return super().__call__(function)

    def __enter__(self):
        _multithreading.enabled = self.mode

    def __exit__(self, *exc):
        _multithreading.enabled = self.before
        return False

    def clone(self):
        return type(self)(self.mode)
