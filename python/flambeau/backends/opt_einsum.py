"""The package opt_einsum, which einsum here does without: it finds orders of contraction itself."""

from __future__ import annotations

enabled = False
strategy = None


def is_available():
    """Whether einsum asks the package for a path: never."""
    return False


def get_opt_einsum():
    """The package, or None."""
    return
