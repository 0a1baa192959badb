"""Throughput of models in several threads."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "measuring of compiled models",
    classes="ThroughputBenchmark ExecutionStats",
    functions="format_time",
)
