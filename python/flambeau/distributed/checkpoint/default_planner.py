"""Plans of what each process writes and reads."""

from __future__ import annotations

from flambeau._absent import declare

from . import DefaultLoadPlanner, DefaultSavePlanner

__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner"]

declare(
    globals(),
    "checkpoints of several processes",
    functions=(
        "create_default_global_load_plan create_default_global_save_plan"
        " create_default_local_load_plan create_default_local_save_plan"
    ),
)
