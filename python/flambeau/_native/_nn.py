"""`torch._C._nn`: operators of layers."""

from __future__ import annotations

import importlib

from flambeau import _C
from flambeau._C import Tensor, ops


def _parse_to(*args, **kwargs):
    """(device, dtype, non_blocking, memory_format) of arguments like those of ``Tensor.to``."""
    device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
    non_blocking = kwargs.pop("non_blocking", False)
    kwargs.pop("copy", None)
    memory_format = kwargs.pop("memory_format", None)
    rest = list(args)
    if "tensor" in kwargs or (rest and isinstance(rest[0], Tensor)):
        tensor = kwargs.pop("tensor", None)
        tensor = rest.pop(0) if tensor is None else tensor
        device, dtype = tensor.device, tensor.dtype
    elif rest and isinstance(rest[0], _C.dtype):
        dtype = rest.pop(0)
    elif rest and (rest[0] is None or isinstance(rest[0], str | int | _C.device)):
        device = rest.pop(0)
        if rest and (rest[0] is None or isinstance(rest[0], _C.dtype)):
            dtype = rest.pop(0)
    if rest:
        non_blocking = rest.pop(0)
    rest = rest[1:]  # copy, which PyTorch reads and drops
    if rest or kwargs:
        raise TypeError(
            f"_parse_to() received an invalid combination of arguments - got {args} {kwargs}"
        )
    return (
        None if device is None else _C.device(device), dtype, bool(non_blocking), memory_format,
    )  # fmt: skip


def flatten_dense_tensors(tensors):
    """The elements of tensors in one."""
    return ops.cat([t.reshape(-1) for t in tensors])


def unflatten_dense_tensors(flat, tensors):
    """Parts of a tensor in the shapes of others."""
    parts, at = [], 0
    for t in tensors:
        parts.append(flat.narrow(0, at, t.numel()).view(t.shape))
        at += t.numel()
    return tuple(parts)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    if hasattr(ops, name):
        return getattr(ops, name)
    functional = importlib.import_module("flambeau.nn.functional")
    if hasattr(functional, name):
        return getattr(functional, name)
    raise AttributeError(f"module 'torch._C._nn' has no attribute '{name}'")
