"""cuSPARSELt, which this build has not."""

from __future__ import annotations


def version():
    """None: there is no cuSPARSELt."""


def is_available() -> bool:
    """Whether there is a cuSPARSELt: never."""
    return False
