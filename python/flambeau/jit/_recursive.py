"""How modules become TorchScript: they do not."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "TorchScript",
    classes="ConcreteTypeStore",
    functions="create_script_module recursive_script",
)


concrete_type_store = None
