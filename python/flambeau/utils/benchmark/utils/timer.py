"""Parts of the measuring of times."""

from __future__ import annotations

from flambeau.utils.benchmark._measure import (
    Language,
    Timer,
    timer,
)

__all__ = [
    "Language",
    "Timer",
    "timer",
]
