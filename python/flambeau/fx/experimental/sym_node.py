"""Sizes that are not known."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "symbolic shapes",
    classes="SymNode",
)
