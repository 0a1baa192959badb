"""OpenMP, which our own loops do without: they have a pool of threads."""

from __future__ import annotations


def is_available() -> bool:
    """Whether our loops use OpenMP: never."""
    return False
