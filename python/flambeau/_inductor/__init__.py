"""PyTorch's compiler of graphs: not built yet. Guards and settings can be named."""

from __future__ import annotations

import importlib

from flambeau._absent import declare

declare(
    globals(),
    "the compiler",
    functions="aot_compile aoti_compile_and_package aoti_load_package compile standalone_compile",
)
_MODULES = {
    "codecache", "compile_fx", "config", "cpu_vec_isa", "cudagraph_trees", "exc", "lowering",
    "runtime", "utils", "virtualized",
}  # fmt: skip


def cudagraph_mark_step_begin():
    """Says that an iteration begins: nothing is kept of the last."""


def list_mode_options(mode=None, dynamic=None):
    """The settings of a mode: there is nothing to set."""
    return {}


def list_options():
    """The settings that `torch.compile` knows."""
    return list(importlib.import_module(".config", __name__).get_config_copy())


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'torch._inductor' has no attribute '{name}'")
