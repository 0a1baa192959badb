"""Tensors split over devices, and put together again."""

from __future__ import annotations

from flambeau._C import Tensor

__all__ = ["gather", "is_namedtuple", "scatter", "scatter_kwargs"]


def is_namedtuple(obj):
    """Whether obj is an object of a named tuple's class."""
    return isinstance(obj, tuple) and hasattr(obj, "_asdict") and hasattr(obj, "_fields")


def scatter(inputs, target_gpus, dim=0):
    """Inputs for each device: tensors are split, anything else is repeated.

    Raises:
        ValueError: there is a tensor, and no device to send it to.

    >>> scatter([1, {"a": 2}], [0, 1])
    [[1, {'a': 2}], [1, {'a': 2}]]
    """
    if isinstance(inputs, Tensor):
        raise ValueError(f"Expected a non cpu device, but got: {list(target_gpus)}")
    count = len(target_gpus)
    if is_namedtuple(inputs):
        return [
            type(inputs)(*each) for each in zip(*(scatter(x, target_gpus, dim) for x in inputs))
        ]
    if isinstance(inputs, (list, tuple)) and inputs:
        parts = zip(*(scatter(x, target_gpus, dim) for x in inputs))
        return [type(inputs)(each) for each in parts]
    if isinstance(inputs, dict) and inputs:
        parts = zip(*(scatter(item, target_gpus, dim) for item in inputs.items()))
        return [type(inputs)(each) for each in parts]
    return [inputs] * count


def scatter_kwargs(inputs, kwargs, target_gpus, dim=0):
    """`scatter` of arguments and keyword arguments."""
    scattered = scatter(inputs, target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    count = max(len(scattered), len(named))
    scattered = [*scattered, *[()] * (count - len(scattered))]
    named = [*named, *[{}] * (count - len(named))]
    return tuple(scattered), tuple(named)


def gather(outputs, target_device, dim=0):
    """Results of several devices as one.

    Raises:
        AssertionError: the results are tensors of the CPU.
    """
    raise AssertionError("Gather function not implemented for CPU tensors")
