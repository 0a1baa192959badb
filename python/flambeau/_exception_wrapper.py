"""Exceptions that go to another process."""

from __future__ import annotations

import sys


class KeyErrorMessage(str):
    """A message that KeyError shows as it is, not quoted on one line."""

    def __repr__(self):
        return str(self)


class ExceptionWrapper:
    """The exception in flight, for another process to raise again with its traceback as text.

    Args:
        exc_info: as of `sys.exc_info`; the exception that is being handled if left out.
        where: what the message says of the place, "in DataLoader worker process 0".

    >>> try:
    ...     1 / 0
    ... except ZeroDivisionError:
    ...     wrapper = ExceptionWrapper(where="in a worker")
    >>> wrapper.exc_type.__name__, wrapper.exc_msg.splitlines()[-1]
    ('ZeroDivisionError', 'ZeroDivisionError: division by zero')
    """

    def __init__(self, exc_info=None, where="in background"):
        import traceback  # slow to import

        # The exception itself is not kept: its traceback would hold all that the frames hold.
        exc_info = sys.exc_info() if exc_info is None else exc_info
        self.exc_type = exc_info[0]
        self.exc_msg = "".join(traceback.format_exception(*exc_info))
        self.where = where

    def __reduce__(self):
        import pickle

        kind = self.exc_type
        try:
            pickle.dumps(kind)
        except Exception:
            kind = RuntimeError  # of a class that only this process has; the text names it
        return _rebuild_wrapper, (kind, self.exc_msg, self.where)

    def reraise(self):
        """Raises an exception of the same type whose message has the original traceback."""
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            message = KeyErrorMessage(message)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=message)
        try:
            exception = self.exc_type(message)
        except Exception:
            # A type that needs other arguments.
            raise RuntimeError(message) from None
        try:
            raise exception
        finally:
            del exception  # it has this frame in its traceback: a cycle, which would keep workers


def _rebuild_wrapper(kind, text, where):
    wrapper = ExceptionWrapper.__new__(ExceptionWrapper)
    wrapper.exc_type, wrapper.exc_msg, wrapper.where = kind, text, where
    return wrapper
