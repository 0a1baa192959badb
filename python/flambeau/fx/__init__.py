"""Graphs of programs: not built yet. Names can be used for guards and decorators."""

from __future__ import annotations

import importlib

from flambeau._absent import declare

declare(
    globals(),
    "graphs of programs (torch.fx)",
    classes="Graph GraphModule Interpreter Node Proxy Tracer Transformer CodeGen",
    functions="replace_pattern symbolic_trace",
)


def wrap(fn_or_name):
    """Marks a function that graphs call and do not look into.

    Example:
        >>> wrap(len) is len
        True
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name"
        )
    return fn_or_name


def has_side_effect(fn):
    """Marks a function that graphs call for its effect."""
    return fn


def map_arg(a, fn):
    """Applies a function to the nodes of nested arguments: nothing is a node yet."""
    return _immutable(a)


def map_aggregate(a, fn):
    """Applies a function to the leaves of nested arguments.

    Example:
        >>> map_aggregate([1, (2, 3)], lambda x: x + 1)
        [2, (3, 4)]
    """
    if isinstance(a, tuple):
        mapped = [map_aggregate(x, fn) for x in a]
        return type(a)(*mapped) if hasattr(a, "_fields") else tuple(mapped)
    if isinstance(a, list):
        return [map_aggregate(x, fn) for x in a]
    if isinstance(a, dict):
        return {k: map_aggregate(v, fn) for k, v in a.items()}
    if isinstance(a, slice):
        return slice(*(map_aggregate(x, fn) for x in (a.start, a.stop, a.step)))
    return fn(a)


def _immutable(a):
    return map_aggregate(a, lambda x: x)


_MODULES = {
    "_compatibility",
    "_pytree",
    "_symbolic_trace",
    "experimental",
    "graph",
    "graph_module",
    "immutable_collections",
    "interpreter",
    "node",
    "operator_schemas",
    "passes",
    "proxy",
    "subgraph_rewriter",
    "tensor_type",
    "traceback",
}


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
