"""Attention with functions."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "the compiler",
    functions="flex_attention",
)
