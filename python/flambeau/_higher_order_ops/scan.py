"""Scans with functions."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "scans with functions",
    functions="scan",
)
