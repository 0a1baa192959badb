"""Rules of the compiler for operators."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "the compiler",
    functions="make_fallback register_lowering",
)
