"""Errors of processes."""

from __future__ import annotations

import functools

from flambeau._absent import declare


class ChildFailedError(Exception):
    """A process that a launcher started has failed."""

    def __init__(self, name, failures):
        self.name, self.failures = name, failures
        super().__init__(f"{name} FAILED: {failures}")


def record(fn, error_handler=None):
    """Marks the main function of a process; errors reach the caller as they are."""

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        return fn(*args, **kwargs)

    return wrapper


__all__ = ["ChildFailedError", "record"]

declare(
    globals(),
    "launching of several processes",
    classes="ErrorHandler ProcessFailure",
)
