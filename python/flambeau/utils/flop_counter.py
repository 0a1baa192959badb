"""Counts of multiplications: not built yet."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "counting of operators",
    classes="FlopCounterMode",
    functions="register_flop_formula",
)
