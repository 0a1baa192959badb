"""Averages of models on several processes."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "training on several processes",
    classes="ModelAverager PeriodicModelAverager EMAModelAverager",
)
