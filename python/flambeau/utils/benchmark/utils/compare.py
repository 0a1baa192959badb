"""Parts of the measuring of times."""

from __future__ import annotations

from flambeau.utils.benchmark._measure import (
    Colorize,
    Compare,
)

__all__ = [
    "Colorize",
    "Compare",
]
