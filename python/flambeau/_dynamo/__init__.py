"""The capture of programs by `torch.compile`. There is none yet: functions run as they are.

What marks functions and tensors for the compiler is accepted and changes nothing; questions about
it are answered truthfully: nothing is being compiled.
"""

from __future__ import annotations

import importlib

from flambeau._absent import declare

from ._marks import (
    allow_in_graph,
    assume_constant_result,
    disable,
    disallow_in_graph,
    error_on_graph_break,
    forbid_in_graph,
    graph_break,
    is_compiling,
    mark_dynamic,
    mark_static,
    mark_static_address,
    maybe_mark_dynamic,
    nonstrict_trace,
    override_cudagraphs,
    patch_dynamo_config,
    run,
    set_recursion_limit,
    set_stance,
    skip_frame,
    step_unsupported,
    substitute_in_graph,
)
from .backends.registry import list_backends, lookup_backend, register_backend

declare(globals(), "the compiler", functions="explain export optimize_assert replay")
_MODULES = {
    "_trace_wrapped_higher_order_op", "backends", "config", "convert_frame", "decorators",
    "eval_frame", "exc", "external_utils", "testing", "utils", "variables",
}  # fmt: skip


def reset():
    """Forgets what was compiled: nothing.

    Example:
        >>> reset()
    """


def reset_code_caches():
    """Forgets what was compiled: nothing."""


def optimize(backend="inductor", *, nopython=False, guard_export_fn=None, disable=False,
             dynamic=None, **kwargs):  # fmt: skip
    """A decorator as `torch.compile` with a backend."""
    from flambeau import compile

    return compile(backend=backend, fullgraph=nopython, disable=disable, dynamic=dynamic)


def __getattr__(name):
    if name == "OptimizedModule":
        return importlib.import_module(".eval_frame", __name__).OptimizedModule
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'torch._dynamo' has no attribute '{name}'")


__all__ = [
    "allow_in_graph", "assume_constant_result", "disable", "disallow_in_graph",
    "error_on_graph_break", "explain", "export", "forbid_in_graph", "graph_break", "is_compiling",
    "list_backends", "lookup_backend", "mark_dynamic", "mark_static", "mark_static_address",
    "maybe_mark_dynamic", "nonstrict_trace", "optimize", "optimize_assert", "override_cudagraphs",
    "patch_dynamo_config", "register_backend", "replay", "reset", "run", "set_recursion_limit",
    "set_stance", "skip_frame", "step_unsupported", "substitute_in_graph",
]  # fmt: skip
