"""Programs as graphs in files: not built yet."""

from __future__ import annotations

import importlib

from flambeau._absent import declare
from flambeau.utils._pytree import register_dataclass as register_dataclass

declare(
    globals(),
    "export of programs",
    classes=(
        "AdditionalInputs Constraint Dim CustomDecompTable ExportBackwardSignature"
        " ExportGraphSignature ExportedProgram FlatArgsAdapter ModuleCallEntry"
        " ModuleCallSignature ShapesCollection UnflattenedModule"
    ),
    functions=(
        "default_decompositions dims draft_export export export_for_training load save unflatten"
    ),
)

_MODULES = {"custom_ops", "dynamic_shapes", "exported_program", "graph_signature", "unflatten"}


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
