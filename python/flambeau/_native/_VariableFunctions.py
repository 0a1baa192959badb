"""`torch._C._VariableFunctions`: operators as functions."""

from __future__ import annotations

from flambeau._C import ops


def __getattr__(name):
    return getattr(ops, name)
