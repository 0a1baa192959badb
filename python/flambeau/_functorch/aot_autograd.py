"""Gradients ahead of time."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "the compiler",
    functions=(
        "aot_export_joint_simple aot_export_module aot_function aot_module aot_module_simplified"
    ),
)
