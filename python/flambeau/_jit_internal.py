"""Marks for TorchScript under PyTorch's private module."""

from __future__ import annotations

from typing import Any, Final, Optional, Union

from flambeau.futures import Future
from flambeau.jit import (
    _overload,
    _overload_method,
    export,
    ignore,
    is_scripting,
    unused,
)


def _copy_to_script_wrapper(fn):
    """Marks a method that compiled modules keep."""
    return fn


def boolean_dispatch(arg_name, arg_index, default, if_true, if_false, module_name, func_name):
    """A function that calls one of two by the truth of an argument."""

    def fn(*args, **kwargs):
        flag = default
        if arg_name in kwargs:
            flag = kwargs[arg_name]
        elif arg_index < len(args):
            flag = args[arg_index]
        return (if_true if flag else if_false)(*args, **kwargs)

    fn.__doc__ = if_true.__doc__ or if_false.__doc__
    if module_name is not None:
        fn.__module__ = module_name
    if func_name is not None:
        fn.__name__ = func_name
    return fn


class _BroadcastingList:
    def __getitem__(self, types):
        return Any


BroadcastingList1 = _BroadcastingList()
BroadcastingList2 = BroadcastingList3 = BroadcastingList4 = BroadcastingList1
BroadcastingList5 = BroadcastingList6 = BroadcastingList1

__all__ = [
    "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "Final", "Future", "Optional",
    "Union", "_copy_to_script_wrapper", "_overload", "_overload_method", "boolean_dispatch",
    "export", "ignore", "is_scripting", "unused",
]  # fmt: skip
