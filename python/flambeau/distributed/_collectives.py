"""Communication within a group of one process: every process's value is this one's."""

from __future__ import annotations

from typing import Any

from flambeau import _C
from flambeau._C import Tensor

from ._group import ReduceOp, resolve


class Work:
    """An operation that was started; it is done."""

    def __init__(self, result=None):
        self._result = result

    def wait(self, timeout=None):
        """Returns at once."""
        return True

    def is_completed(self):
        """Always True."""
        return True

    def is_success(self):
        """Always True."""
        return True

    def exception(self):
        """None: nothing failed."""

    def result(self):
        """The tensors of the operation."""
        return self._result

    def get_future(self):
        """A finished `futures.Future` of the tensors."""
        import importlib

        future = importlib.import_module("flambeau.futures").Future()
        future.set_result(self._result)
        return future


def _check(value, name):
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor but got"
            f" {type(value)} instead."
        )
    return value


def _check_list(values, name, count=1):
    if not isinstance(values, list | tuple) or not all(isinstance(v, Tensor) for v in values):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor] but"
            f" got {type(values)} instead."
        )
    if len(values) != count:
        raise ValueError(f"`{name}` has {len(values)} tensors; the group has {count} process")
    return values


def _check_rank(rank, group_rank, name):
    for value in (rank, group_rank):
        if value not in (None, 0):
            raise ValueError(f"{name} rank {value} is not in a group of one process")


def _check_op(op):
    if not isinstance(op, ReduceOp):
        raise ValueError(f"expected a torch.distributed.ReduceOp, got {op!r}")


def _copy(target, source):
    if target.dtype != source.dtype or target.numel() != source.numel():
        raise ValueError(
            f"expected a tensor of {source.numel()} elements of {source.dtype}, got"
            f" {target.numel()} of {target.dtype}"
        )
    before = _C.is_grad_enabled()
    _C._set_grad_enabled(False)
    try:
        target.copy_(source.reshape(target.shape))
    finally:
        _C._set_grad_enabled(before)


def _done(async_op, result):
    return Work(result) if async_op else None


def all_reduce(tensor, op=ReduceOp.SUM, group=None, async_op=False):
    """Replaces a tensor by the sum (or ``op``) of all processes'."""
    _check(tensor, "tensor")
    _check_op(op)
    resolve(group)
    return _done(async_op, [tensor])


def all_reduce_coalesced(tensors, op=ReduceOp.SUM, group=None, async_op=False):
    """`all_reduce` of several tensors."""
    _check_list(tensors, "tensors", len(tensors) if isinstance(tensors, list | tuple) else 1)
    resolve(group)
    return _done(async_op, tensors)


def reduce(tensor, dst=None, op=ReduceOp.SUM, group=None, async_op=False, group_dst=None):
    """`all_reduce`, whose result only one process has."""
    _check_rank(dst, group_dst, "destination")
    return all_reduce(tensor, op, group, async_op)


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    """Gives all processes the tensor of one."""
    _check(tensor, "tensor")
    resolve(group)
    _check_rank(src, group_src, "source")
    return _done(async_op, [tensor])


def all_gather(tensor_list, tensor, group=None, async_op=False):
    """Copies each process's tensor into a list."""
    _check(tensor, "tensor")
    resolve(group)
    _check_list(tensor_list, "tensor_list")
    _copy(tensor_list[0], tensor)
    return _done(async_op, tensor_list)


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    """Copies all processes' tensors into one."""
    _check(input_tensor, "input_tensor")
    resolve(group)
    _copy(_check(output_tensor, "output_tensor"), input_tensor)
    return _done(async_op, [output_tensor])


def all_gather_coalesced(output_tensor_lists, input_tensor_list, group=None, async_op=False):
    """`all_gather` of several tensors."""
    for outputs, tensor in zip(output_tensor_lists, input_tensor_list):
        all_gather(outputs, tensor, group)
    return _done(async_op, output_tensor_lists)


def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
    """`all_gather`, whose result only one process has."""
    _check_rank(dst, group_dst, "destination")
    if gather_list is None:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    return all_gather(gather_list, tensor, group, async_op)


def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
    """Gives each process one tensor of a list."""
    _check(tensor, "tensor")
    resolve(group)
    _check_rank(src, group_src, "source")
    if scatter_list is None:
        raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    _copy(tensor, _check_list(scatter_list, "scatter_list")[0])
    return _done(async_op, [tensor])


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None, async_op=False):
    """Sums lists of tensors and gives each process one of the sums."""
    _check_op(op)
    resolve(group)
    _copy(_check(output, "output"), _check_list(input_list, "input_list")[0])
    return _done(async_op, [output])


def reduce_scatter_tensor(output, input, op=ReduceOp.SUM, group=None, async_op=False):
    """Sums tensors and gives each process a part of the sum."""
    _check_op(op)
    resolve(group)
    _copy(_check(output, "output"), _check(input, "input"))
    return _done(async_op, [output])


def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False):
    """Each process sends one tensor of its list to each."""
    resolve(group)
    _check_list(output_tensor_list, "output_tensor_list")
    _copy(output_tensor_list[0], _check_list(input_tensor_list, "input_tensor_list")[0])
    return _done(async_op, output_tensor_list)


def all_to_all_single(
    output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False
):
    """Each process sends a part of its tensor to each."""
    resolve(group)
    _copy(_check(output, "output"), _check(input, "input"))
    return _done(async_op, [output])


def barrier(group=None, async_op=False, device_ids=None, timeout=None):
    """Waits for all processes."""
    resolve(group)
    return _done(async_op, [])


def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    """Waits for all processes."""
    resolve(group)


def all_gather_object(object_list, obj, group=None):
    """Puts a pickled copy of each process's object into a list."""
    import pickle

    resolve(group)
    object_list[0] = pickle.loads(pickle.dumps(obj))


def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
    """`all_gather_object`, whose result only one process has."""
    _check_rank(dst, group_dst, "destination")
    if object_gather_list is None:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    all_gather_object(object_gather_list, obj, group)


def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None):
    """Gives all processes the objects of one."""
    import pickle

    resolve(group)
    _check_rank(src, group_src, "source")
    pickle.dumps(object_list)  # what cannot be sent fails with one process as well


def scatter_object_list(
    scatter_object_output_list, scatter_object_input_list=None, src=None, group=None,
    group_src=None,
):  # fmt: skip
    """Gives each process one object of a list."""
    resolve(group)
    _check_rank(src, group_src, "source")
    if not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size 1")
    if scatter_object_input_list is None:
        raise ValueError("source rank must provide non-None scatter_object_input_list")
    all_gather_object(scatter_object_output_list, scatter_object_input_list[0], group)


def _to_itself(what, rank, group):
    resolve(group)
    _check_rank(rank, None, what)
    raise ValueError(
        f"Invalid {what} rank: {what} rank should not be the same as the rank of the current"
        " process."
    )


def send(tensor, dst=None, group=None, tag=0, group_dst=None):
    """Sends a tensor to another process: there is none."""
    _to_itself("destination", dst, group)


def recv(tensor, src=None, group=None, tag=0, group_src=None):
    """Receives a tensor from another process: there is none."""
    _to_itself("source", src, group)


def isend(tensor, dst=None, group=None, tag=0, group_dst=None):
    """`send` in the background."""
    _to_itself("destination", dst, group)


def irecv(tensor, src=None, group=None, tag=0, group_src=None):
    """`recv` in the background."""
    _to_itself("source", src, group)


def send_object_list(object_list, dst=None, group=None, device=None, group_dst=None):
    """`send` of objects."""
    _to_itself("destination", dst, group)


def recv_object_list(object_list, src=None, group=None, device=None, group_src=None):
    """`recv` of objects."""
    _to_itself("source", src, group)


class P2POp:
    """One entry of `batch_isend_irecv`."""

    def __init__(self, op, tensor, peer=None, group=None, tag=0, group_peer=None):
        if op not in (isend, irecv):
            raise ValueError("Invalid ``op``. Expected ``op`` to be `isend` or `irecv`")
        self.op, self.tensor, self.peer = op, tensor, peer
        self.group, self.tag, self.group_peer = group, tag, group_peer


def batch_isend_irecv(p2p_op_list: list[Any]):
    """Starts several `isend` and `irecv`."""
    return [p.op(p.tensor, p.peer, p.group, p.tag) for p in p2p_op_list]


def supports_complex(reduceOp):
    """Whether a reduction is defined for complex numbers."""
    return reduceOp not in (ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PRODUCT)
