"""Recorded work of CUDA devices."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "the compiler",
    functions="get_container get_manager",
)
