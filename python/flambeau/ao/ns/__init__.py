"""Comparison of models with integers."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "quantization",
    functions="compare_weights",
)
