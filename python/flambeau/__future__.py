"""How modules convert their parameters: `torch.__future__`."""

from __future__ import annotations

_state = {"overwrite": False, "swap": False}


def set_overwrite_module_params_on_conversion(value):
    """Whether conversions of modules make new parameters."""
    _state["overwrite"] = value


def get_overwrite_module_params_on_conversion():
    """Whether conversions of modules make new parameters."""
    return _state["overwrite"]


def set_swap_module_params_on_conversion(value):
    """Whether conversions of modules exchange parameters."""
    _state["swap"] = value


def get_swap_module_params_on_conversion():
    """Whether conversions of modules exchange parameters."""
    return _state["swap"]
