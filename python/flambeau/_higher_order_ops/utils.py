"""Helpers of control flow."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "the compiler",
    functions="setup_compilation_env",
)
