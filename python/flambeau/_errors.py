"""Exception types of their own name."""

from __future__ import annotations


class FatalError(Exception):
    """An error after which the process should end."""


class LinAlgError(RuntimeError):
    """A matrix has no decomposition or inverse of the kind asked for."""


class OutOfMemoryError(RuntimeError):
    """An allocation did not fit into memory."""
