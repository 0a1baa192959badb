"""Classes and modes that note what they are asked, and how expressions with them are compared."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
from shared import torch

overrides = __import__(torch.__name__ + ".overrides", fromlist=["*"])
F = torch.nn.functional
log: list = []


def name_of(function):
    name = overrides.resolve_name(function) or "?"
    for old, new in (("torch._C._nn.", "torch.nn.functional."), ("torch.functional.", "torch.")):
        name = name.replace(old, new)
    return name


class S(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        log.append(f"{name_of(func)} {[t.__name__ for t in types]} {len(args)}")
        return super().__torch_function__(func, types, args, kwargs or {})


class SS(S):
    pass


class Plain(torch.Tensor):
    pass


class Off(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl


class Duck:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        log.append(f"duck {name_of(func)} {sorted(t.__name__ for t in types)}")
        return 7


class No:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        log.append("no " + name_of(func))
        return NotImplemented


class Mode(overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        log.append(f"mode {name_of(func)} {[t.__name__ for t in types]}")
        return func(*args, **(kwargs or {}))


def mk(cls=S, **arguments):
    return torch.tensor([1.0, 2.0, 3.0], **arguments).as_subclass(cls)


def show(v):
    with torch._C.DisableTorchFunctionSubclass():
        if isinstance(v, torch.Tensor):
            values = v.tolist() if v.device.type == "cpu" else "meta"
            return f"{type(v).__name__}{values} {v.requires_grad} {type(v.grad_fn).__name__}"
        if isinstance(v, (tuple, list)):
            return f"{type(v).__name__}({', '.join(show(x) for x in v)})"
        if isinstance(v, np.ndarray):
            return f"ndarray{v.dtype}{v.tolist()}"
        return f"{type(v).__name__}:{v!r}".split(" at 0x")[0]


NAMES = {
    "torch": torch, "np": np, "F": F, "O": overrides, "copy": copy, "pickle": pickle, "S": S,
    "SS": SS, "Plain": Plain, "Off": Off, "Duck": Duck, "No": No, "mk": mk,
}  # fmt: skip


def outcome(text):
    """What an expression gives, and which calls the overrides saw meanwhile."""
    names = dict(NAMES, x=mk(), Mode=Mode)
    log.clear()
    context, _, expression = text.rpartition(": ") if text.startswith("with ") else ("", "", text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if context:
                exec(f"{context}:\n    value = {expression}", names)
            else:
                names["value"] = eval(expression, names)
            calls = list(log)
            return [show(names["value"]), calls]
        except Exception as error:
            return [f"raises {type(error).__name__}", list(log)]
