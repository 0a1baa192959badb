"""Whether modules are there."""

from __future__ import annotations

import functools
import importlib.util


def _check_module_exists(name):
    """Whether a module can be imported, without importing it."""
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


@functools.lru_cache
def dill_available():
    """Whether dill is installed."""
    return _check_module_exists("dill")


@functools.lru_cache
def import_dill():
    """dill, or None."""
    if not dill_available():
        return None
    import importlib

    return importlib.import_module("dill")
