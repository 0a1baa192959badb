"""What the cases share: the module under test (PyTorch where it records), arguments, outcomes."""

from __future__ import annotations

import warnings

import numpy as np

try:
    import flambeau as torch
except ImportError:
    import torch  # the reference


class HasArray:
    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array if dtype is None else self.array.astype(dtype)


class HasIndex:
    def __index__(self):
        return 2


class Items:
    def __len__(self):
        return 2

    def __getitem__(self, i):
        if i >= 2:
            raise IndexError
        return i + 1


def a34(dtype="f4"):
    return np.arange(12, dtype=dtype).reshape(3, 4)


def x3(**arguments):
    return torch.tensor([1.0, 2.0, 3.0], **arguments)


def show(v):
    """Type, dtype, shape, strides and values as text."""
    if isinstance(v, torch.Tensor):
        v = v.detach()
        kind = f"{type(v).__name__},{v.dtype},{tuple(v.shape)},{tuple(v.stride())}"
        return f"Tensor[{kind},{v.device}]" + (repr(v.tolist()) if v.device.type == "cpu" else "")
    if isinstance(v, np.ndarray):
        return f"ndarray[{v.dtype},{v.shape},{v.strides},{v.flags.writeable}]{v.tolist()!r}"
    if isinstance(v, np.generic):
        return f"np.{type(v).__name__}:{v!r}"
    if isinstance(v, (list, tuple)):
        return f"{type(v).__name__}({', '.join(show(x) for x in v)})"
    if isinstance(v, type):
        return f"type {v.__name__}"
    return f"{type(v).__name__}:{v!r}".split(" at 0x")[0].replace("flambeau.", "torch.")


NAMES = {
    "torch": torch, "np": np, "T": torch.tensor, "x3": x3, "a34": a34, "HasArray": HasArray,
    "HasIndex": HasIndex, "Items": Items,
}  # fmt: skip
exec("import array, copy, gc, math, operator, pickle, sys, weakref", NAMES)
exec(f"import {torch.__name__}.utils.dlpack", {})


def outcome(text):
    """What statements, separated by ``;;``, and an expression give: value or kind of error."""
    names = dict(NAMES)
    *before, last = [part.strip() for part in text.split(";;")]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            exec("\n".join(before), names)
            value = eval(last, names)
            result = show(value)
            if isinstance(value, torch.Tensor) and value.requires_grad:
                result += " requires_grad"
        except Exception as error:
            result = f"raises {type(error).__name__}"
    return [result, sorted({w.category.__name__ for w in seen} & {"UserWarning"})]
