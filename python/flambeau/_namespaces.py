"""Fills a module (special, linalg, fft …) with the operators that the table names for it."""

from __future__ import annotations

from . import _C


def fill(namespace, module):
    """Adds every operator with an alias ``module.name`` to ``namespace``; returns their names."""
    names = []
    for where, name, target in _C._aliases:
        if where == module:
            namespace[name] = getattr(_C.ops, target)
            names.append(name)
    return sorted(names)
