"""Context managers that are decorators as well."""

from __future__ import annotations

import functools
import inspect


class _DecoratorContextManager:
    """The base of context managers that decorate functions and generators."""

    def __call__(self, orig_func):
        if inspect.isgeneratorfunction(orig_func):
            return self._wrap_generator(orig_func)

        @functools.wraps(orig_func)
        def wrapped(*args, **kwargs):
            with self.clone():
                return orig_func(*args, **kwargs)

        return wrapped

    def _wrap_generator(self, function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            generator = function(*args, **kwargs)
            sent = None
            while True:
                with self.clone():
                    try:
                        value = generator.send(sent)
                    except StopIteration as stop:
                        return stop.value
                try:
                    sent = yield value
                except GeneratorExit:
                    generator.close()
                    raise

        return wrapped

    def __enter__(self):
        raise NotImplementedError

    def __exit__(self, *exc):
        raise NotImplementedError

    def clone(self):
        """Another context manager of the kind."""
        return self.__class__()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """One that decorates without being called first."""

    def __new__(cls, orig_func=None):
        if orig_func is None:
            return super().__new__(cls)
        return cls()(orig_func)


def context_decorator(ctx, func):
    """A function that runs within a context manager, or within what a function makes."""

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        with ctx() if callable(ctx) and not hasattr(ctx, "__enter__") else ctx:
            return func(*args, **kwargs)

    return wrapped
