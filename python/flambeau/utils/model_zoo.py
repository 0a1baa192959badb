"""`hub` under its old name."""

from __future__ import annotations

import importlib


def load_url(*args, **kwargs):
    """`hub.load_state_dict_from_url`."""
    return importlib.import_module("flambeau.hub").load_state_dict_from_url(*args, **kwargs)


__all__ = ["load_url"]
