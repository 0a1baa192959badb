"""Tensors of rows of different lengths: not built yet."""

from __future__ import annotations

import importlib

from flambeau._absent import declare

declare(
    globals(),
    "nested tensors",
    functions=(
        "as_nested_tensor masked_select narrow nested_tensor nested_tensor_from_jagged"
        " to_padded_tensor"
    ),
)

_MODULES = {"_internal"}


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
