"""Groups of processes."""

from __future__ import annotations

import importlib

from flambeau._absent import declare

declare(
    globals(),
    "launching of several processes",
    classes=(
        "DefaultLogsSpecs LogsDest LogsSpecs MultiprocessContext PContext"
        " RunProcsResult Std SubprocessContext"
    ),
    functions="start_processes to_map",
)

_MODULES = {"errors"}


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
