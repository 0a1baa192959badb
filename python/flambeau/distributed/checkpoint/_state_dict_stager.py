"""Copies of state dicts."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "checkpoints of several processes",
    classes="StateDictStager",
)
