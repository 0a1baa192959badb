"""Backends for tests of programs."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "the compiler",
    classes="CompileCounter CompileCounterWithBackend EagerAndRecordGraphs",
)
