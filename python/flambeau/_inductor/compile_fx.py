"""Compilation of graphs."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "the compiler",
    functions="compile_fx compile_fx_inner",
)
