"""Collectives that return tensors: in a group of one process, the tensor itself or a copy."""

from __future__ import annotations

from flambeau._C import Tensor, ops

from ._absent_part import AsyncCollectiveTensor as AsyncCollectiveTensor
from ._group import ProcessGroup, resolve


def _check_group(group):
    """A group, a mesh of one device, or a list of the ranks in the group."""
    if isinstance(group, ProcessGroup) or group is None or isinstance(group, str):
        resolve(None if isinstance(group, str) else group)
        return
    size = group.size() if hasattr(group, "size") else len(group)
    if size != 1:
        raise ValueError(f"expected a group of one process, got {size}")


def wait_tensor(tensor):
    """The tensor, which is there."""
    return tensor


def all_reduce(self: Tensor, reduceOp: str, group, tag=""):
    """The sum (or ``reduceOp``) of all processes' tensors."""
    _check_group(group)
    return ops.clone(self)


def broadcast(self, src, group, tag=""):
    """The tensor of one process."""
    _check_group(group)
    return ops.clone(self)


def all_gather_tensor(self, gather_dim, group, tag=""):
    """All processes' tensors, one behind the other along a dimension."""
    _check_group(group)
    return ops.clone(self)


all_gather_tensor_autograd = all_gather_tensor


def reduce_scatter_tensor(self, reduceOp, scatter_dim, group, tag=""):
    """This process's part of the sum of all processes' tensors."""
    _check_group(group)
    return ops.clone(self)


reduce_scatter_tensor_autograd = reduce_scatter_tensor


def all_to_all_single(self, output_split_sizes, input_split_sizes, group, tag=""):
    """Parts of all processes' tensors."""
    _check_group(group)
    return ops.clone(self)


all_to_all_single_autograd = all_to_all_single


def permute_tensor(self, src_dst, group, tag=""):
    """The tensor of another process: ``src_dst`` says which gives to which."""
    _check_group(group)
    return ops.clone(self)
