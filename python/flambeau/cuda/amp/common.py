"""Whether CUDA's autocast can have an effect."""

from __future__ import annotations


def amp_definitely_not_available():
    """Always True in this build."""
    return True


__all__ = ["amp_definitely_not_available"]
