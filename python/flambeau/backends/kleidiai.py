"""Arm's KleidiAI, which this build has not."""

from __future__ import annotations


def is_available() -> bool:
    """Whether the build has KleidiAI: never."""
    return False
