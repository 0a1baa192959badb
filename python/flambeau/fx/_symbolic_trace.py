"""Tracing."""

from __future__ import annotations

import flambeau.fx as _fx

Tracer = _fx.Tracer  # type: ignore[attr-defined]
symbolic_trace = _fx.symbolic_trace  # type: ignore[attr-defined]
wrap = _fx.wrap
_wrapped_fns_to_patch: dict = {}
_wrapped_methods_to_patch: list = []


def is_fx_tracing():
    """Whether the code runs to be traced: never."""
    return False


def is_fx_symbolic_tracing():
    """Whether the code runs to be traced: never."""
    return False


__all__ = ["Tracer", "is_fx_symbolic_tracing", "is_fx_tracing", "symbolic_trace", "wrap"]
