"""Collectives with gradients, in a group of one process."""

from __future__ import annotations

from flambeau._C import ops
from flambeau.distributed._group import ReduceOp, resolve


def all_gather(tensor, group=None):
    """All processes' tensors, in a tuple.

    Example:
        >>> import flambeau
        >>> import flambeau.distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> all_gather(flambeau.ones(2))
        (tensor([1., 1.]),)
        >>> dist.destroy_process_group()
    """
    resolve(group)
    return (ops.clone(tensor),)


def gather(tensor, dst=0, group=None):
    """`all_gather`, whose result only one process has."""
    return all_gather(tensor, group)


def all_reduce(tensor, op=ReduceOp.SUM, group=None):
    """The sum (or ``op``) of all processes' tensors."""
    resolve(group)
    return ops.clone(tensor)


def reduce(tensor, dst, op=ReduceOp.SUM, group=None):
    """`all_reduce`, whose result only one process has."""
    return all_reduce(tensor, op, group)


def broadcast(tensor, src, group=None):
    """The tensor of one process."""
    resolve(group)
    return ops.clone(tensor)


def scatter(tensors, src=0, group=None):
    """One tensor of a list for each process."""
    resolve(group)
    (tensor,) = tensors
    return ops.clone(tensor)


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None):
    """This process's sum of all processes' lists."""
    resolve(group)
    (tensor,) = input_list
    return ops.clone(tensor)


def all_to_all(output_tensor_list, input_tensor_list, group=None):
    """One tensor of each process's list."""
    resolve(group)
    (tensor,) = input_tensor_list
    return (ops.clone(tensor),)


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None):
    """Parts of all processes' tensors."""
    resolve(group)
    return ops.clone(input)


__all__ = [
    "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce",
    "reduce_scatter", "scatter",
]  # fmt: skip
