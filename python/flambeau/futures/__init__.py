"""Results that are there later: what `jit.fork`, hooks and remote calls give."""

from __future__ import annotations

import threading
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Future(Generic[T]):
    """A value that another thread sets.

    Example:
        >>> future = Future()
        >>> double = future.then(lambda f: f.value() * 2)
        >>> future.set_result(4)
        >>> future.done(), future.wait(), double.wait()
        (True, 4, 8)
    """

    def __init__(self, *, devices=None):
        self._ready = threading.Condition()
        self._done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Any] = []

    def done(self):
        """Whether there is a value, or an error."""
        return self._done

    def wait(self):
        """The value, once it is there; raises the error."""
        with self._ready:
            self._ready.wait_for(lambda: self._done)
        return self.value()

    def value(self):
        """The value; raises the error, or where there is none yet."""
        if not self._done:
            raise RuntimeError("value() expects the future to be done; wait() waits for it")
        if self._error is not None:
            raise self._error
        return self._value

    def _finish(self, value, error):
        with self._ready:
            if self._done:
                raise RuntimeError("Future can only be marked completed once")
            self._value, self._error, self._done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._ready.notify_all()
        for callback in callbacks:
            callback(self)

    def set_result(self, result):
        """Sets the value."""
        self._finish(result, None)

    def set_exception(self, result):
        """Sets an error, which `wait` raises."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._finish(None, result)

    def _when_done(self, callback):
        with self._ready:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback):
        """A future of what a function makes of this one when it is done."""
        result: Future = Future()

        def run(future):
            try:
                value = callback(future)
            except Exception as error:
                result.set_exception(error)
            else:
                result.set_result(value)

        self._when_done(run)
        return result

    def add_done_callback(self, callback):
        """Calls a function with this future when it is done; its errors are lost."""

        def run(future):
            import contextlib

            with contextlib.suppress(Exception):
                callback(future)

        self._when_done(run)


def collect_all(futures):
    """A future of the list, once all are done.

    Example:
        >>> a, b = Future(), Future()
        >>> both = collect_all([a, b])
        >>> a.set_result(1); b.set_result(2)
        >>> [f.value() for f in both.wait()]
        [1, 2]
    """
    futures = list(futures)
    result: Future = Future()
    left = [len(futures)]
    lock = threading.Lock()

    def count(_):
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            failed = next((f._error for f in futures if f._error is not None), None)
            if isinstance(failed, Exception):
                result.set_exception(failed)
            else:
                result.set_result(futures)

    if not futures:
        result.set_result(futures)
    for future in futures:
        future._when_done(count)
    return result


def wait_all(futures):
    """The values, once all are there.

    Example:
        >>> a = Future()
        >>> a.set_result(1)
        >>> wait_all([a])
        [1]
    """
    return [f.wait() for f in collect_all(futures).wait()]


__all__ = ["Future", "collect_all", "wait_all"]
