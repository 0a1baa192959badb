"""Helpers of quantization."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "quantization",
    functions="check_min_max_valid",
)
