"""Hints for kernels."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "the compiler",
    classes="DeviceProperties HeuristicType ReductionHint",
)
