"""Watching of processes."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "launching of several processes",
    classes=("ElasticAgent RunResult SimpleElasticAgent Worker WorkerGroup WorkerSpec WorkerState"),
)
