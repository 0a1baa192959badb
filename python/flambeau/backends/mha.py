"""The fast path of attention layers in evaluation: a switch that is kept."""

from __future__ import annotations

_enabled = True


def get_fastpath_enabled() -> bool:
    """Whether layers may take the fast path."""
    return _enabled


def set_fastpath_enabled(value: bool) -> None:
    """Allows or forbids the fast path; the results are the same."""
    global _enabled
    _enabled = value
