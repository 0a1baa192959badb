"""`flambeau.signal`: windows for the analysis of signals."""

from __future__ import annotations

from . import windows

__all__ = ["windows"]
