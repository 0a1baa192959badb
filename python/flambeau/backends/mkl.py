"""MKL, which this build does without: matrix products come from OpenBLAS."""

from __future__ import annotations

VERBOSE_OFF = 0
VERBOSE_ON = 1


def is_available() -> bool:
    """Whether the build has MKL: never."""
    return False


class verbose:
    """A context that would make MKL print its calls; accepted."""

    def __init__(self, enable):
        self.enable = enable

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False
