"""Tuples of one size a dimension, as the options of convolutions and pools are given."""

# ruff: noqa: F401 - programs take the tuple helpers from here

from __future__ import annotations

from flambeau.nn._functional_common import (
    _list_with_default,
    _ntuple,
    _pair,
    _quadruple,
    _reverse_repeat_tuple,
    _single,
    _triple,
)

__all__ = ["consume_prefix_in_state_dict_if_present"]


def consume_prefix_in_state_dict_if_present(state_dict, prefix):
    """Takes a prefix off all names of a state dictionary, in place."""
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is None:
        return
    for key in list(metadata):
        # "" belongs to the wrapper, "module" to what was wrapped, "module.x" to what is below.
        if key and key == prefix.replace(".", ""):
            metadata[""] = metadata.pop(key)
        elif key.startswith(prefix):
            metadata[key[len(prefix) :]] = metadata.pop(key)
