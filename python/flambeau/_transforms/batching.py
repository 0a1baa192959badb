"""The level of vmap: tensors with one dimension hidden, and the rule of each kind of operator.

A rule gets the operator's arguments as `Batched` calls: values with the batch at the front. It
follows from the table where it can: pointwise operators align shapes; operators with arguments
called dim, dims, ... shift them by one; some take leading dimensions anyway. Others have a
function in `rules.py`. What is left runs in a loop over the batch, with a warning.
"""

from __future__ import annotations

import warnings

from flambeau import _C
from flambeau._C import Tensor, ops

from . import interpreter
from .interpreter import BATCH, Level, _level_of, _transform_of


class BatchLevel(Level):
    """vmap: each tensor has a hidden dimension of size ``size``."""

    kind = BATCH

    def __init__(self, size, randomness="error"):
        super().__init__()
        self.size, self.randomness = size, randomness

    def label(self, dim):
        return f"BatchedTensor(lvl={self.depth}, bdim={dim}"

    def wrap(self, t, dim=0):
        return _C._transform(self, self.id, BATCH, t, None, dim) if isinstance(t, Tensor) else t

    def process(self, op, args):
        call = Call(self, op, args)
        if op.random:
            from .random import random_rule

            return random_rule(call)
        batched = call.any_batched()
        if op.changes and not call.batched[0]:
            if batched:
                raise RuntimeError(_inplace_text(op))
            op.call(args)
            return args[0]
        if not batched:
            return self.factory(op, args)
        rule = op.rule
        if rule is None:
            from .rules import find_rule

            rule = op.rule = find_rule(op)
        result = rule(call)
        if op.changes:
            interpreter._refresh(self, args[0])
            return args[0]
        return call.finish(result)

    def factory(self, op, args):
        """A batch beside a batch (`x.new_zeros()`), else one tensor for all entries."""
        i, size = op.position.get("device"), op.position.get("size")
        if i is None or size is None or args[i] is None or args[i].type != "transform":
            return op.call(args)
        args[size] = (self.size, *args[size])
        if "stride" in op.position:
            stride = op.position["stride"]
            args[stride] = (_extent(args[size][1:], args[stride]), *args[stride])
        return self.wrap(op.call(args))

    def item(self, t):
        raise RuntimeError(
            "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over "
            "calling .item() on a Tensor, please try to rewrite what you're doing with other "
            "operations. If error is occurring somewhere inside PyTorch internals, please file a "
            "bug report."
        )

    def detach(self, t):
        record = _transform_of(t)
        return self.wrap(record[3].detach(), record[5])


def _extent(size, stride):
    return 1 + sum((n - 1) * s for n, s in zip(size, stride)) if 0 not in size else 0


def _inplace_text(op):
    return (
        f"vmap: aten::{op.entry.base}{op.form}(self, *extra_args) is not possible because there "
        "exists a Tensor `other` in extra_args that has more elements than `self`. This happened "
        "due to `other` being vmapped over but `self` not being vmapped over in a vmap. Please try "
        f"to use out-of-place operators instead of {op.entry.base}{op.form}. If said operator is "
        "being called inside the PyTorch framework, please file a bug report instead."
    )


def dynamic(call):
    """The rule of operators whose result's shape depends on values."""
    raise RuntimeError(
        f"vmap: unable to handle an operator whose result depends on values: {call.op.entry.base} "
        "would have another shape, or give another number, for each entry of the batch. "
        "Rewrite the "
        "function, for example with torch.where or a mask, or take that operator out of vmap."
    )


class Moved:
    """A result whose batch dimension is not the first."""

    def __init__(self, value, dim):
        self.value, self.dim = value, dim


class Call:
    """A call that vmap carries out: arguments, and which of them hide a batch."""

    def __init__(self, level, op, args):
        self.level, self.op, self.args = level, op, args
        number = level.id
        self.batched = [
            (
                any(isinstance(t, Tensor) and _level_of(t) == number for t in a)
                if type(a) in (tuple, list)
                else isinstance(a, Tensor) and _level_of(a) == number
            )
            for a in args
        ]

    @property
    def size(self):
        return self.level.size

    def any_batched(self):
        return any(self.batched)

    def at(self, name):
        return self.op.position[name]

    def __getitem__(self, name):
        return self.args[self.op.position[name]]

    def has(self, name):
        """Whether the argument (by name) is given and a batch."""
        return self.batched[self.op.position[name]]

    # -- values

    def front(self, t):
        """The value with the batch as first dimension; ``t`` itself where it is no batch."""
        if not isinstance(t, Tensor) or _level_of(t) != self.level.id:
            return t
        record = _transform_of(t)
        value, dim = record[3], record[5]
        return value if dim == 0 else ops.movedim(value, dim, 0)

    def full(self, t):
        """As front, but what is no batch is expanded to one."""
        if not isinstance(t, Tensor):
            return t
        if _level_of(t) != self.level.id:
            return ops.expand(t, (self.size, *t.shape))
        return self.front(t)

    def is_batched(self, t):
        return isinstance(t, Tensor) and _level_of(t) == self.level.id

    def aligned(self, t, rank):
        """As front, with dimensions of size 1 after the batch up to ``rank`` dimensions seen."""
        value = self.front(t)
        if not self.is_batched(t) or t.dim() == rank:
            return value
        return ops.reshape(value, (value.shape[0], *[1] * (rank - t.dim()), *value.shape[1:]))

    def map(self, f):
        """All arguments, tensors replaced by f(tensor)."""
        out = []
        for a in self.args:
            if isinstance(a, Tensor):
                out.append(f(a))
            elif type(a) is tuple or type(a) is list:
                out.append(tuple([f(t) if isinstance(t, Tensor) else t for t in a]))
            else:
                out.append(a)
        return out

    def rank(self):
        """Dimensions of the first tensor as the function sees it."""
        for i in self.op.tensors:
            a = self.args[i]
            if isinstance(a, Tensor):
                return a.dim()
            if type(a) in (tuple, list):
                for t in a:
                    if isinstance(t, Tensor):
                        return t.dim()
        return 0

    def run(self, args, name=None):
        op = self.op if name is None else interpreter.operator(name)
        return op.call(args)

    # -- results

    def finish(self, result):
        if isinstance(result, Tensor):
            out = self.level.wrap(result)
        elif isinstance(result, Moved):
            out = self.level.wrap(result.value, result.dim)
        elif isinstance(result, tuple):
            return tuple([self.finish(r) for r in result])
        else:
            return result
        if self.op.view and self.is_batched(self.args[0]):
            _C._share_version(out, self.args[0])
        return out


def count(sizes):
    out = 1
    for s in sizes:
        out *= s
    return out


def shifted(dim, rank):
    """A dimension that the function sees, as one of the value with the batch at the front."""
    if not -rank <= dim < rank:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got "
            f"{dim})"
        )
    return dim + 1 if dim >= 0 else dim + rank + 1


# ---- rules that follow from the table ------------------------------------------------------------


def pointwise(call):
    """Shapes aligned at the last dimension; dtypes promoted by the ranks that the function sees."""
    op = call.op
    tensors = [call.args[i] for i in op.tensors if isinstance(call.args[i], Tensor)]
    rank = max(t.dim() for t in tensors)
    condition = op.position.get("condition")
    args = call.map(lambda t: call.aligned(t, rank))
    dtypes = {
        call.args[i].dtype
        for i in op.tensors
        if i != condition and isinstance(call.args[i], Tensor)
    }
    if len(dtypes) > 1 and not op.changes:
        weak = [call.args[i] for i in op.tensors if i != condition and call.args[i] is not None]
        common = _result_type(weak)
        for i in op.tensors:
            if i != condition and isinstance(args[i], Tensor) and args[i].dtype != common:
                if args[i].dim() == 0 and not call.batched[i]:
                    continue
                if call.args[i].dim() == 0 or len(tensors) > 2:
                    args[i] = ops._to_dtype(args[i], common)
    return op.call(args)


def _result_type(values):
    dims, zeros, numbers = None, None, None
    for v in values:
        if isinstance(v, Tensor):
            if v.dim():
                dims = v.dtype if dims is None else _C.promote_types(dims, v.dtype)
            else:
                zeros = v.dtype if zeros is None else _C.promote_types(zeros, v.dtype)
        else:
            t = _number_dtype(v)
            numbers = t if numbers is None else _C.promote_types(numbers, t)
    out = None
    for t in (dims, zeros, numbers):
        if t is not None:
            out = t if out is None else _stronger(out, t)
    return out


def _number_dtype(v):
    if isinstance(v, bool):
        return _C.bool
    if isinstance(v, int):
        return _C.int64
    if isinstance(v, float):
        return _C.get_default_dtype()
    return _C.complex128 if _C.get_default_dtype() == _C.float64 else _C.complex64


def _category(t):
    if t.is_complex:
        return 3
    return 2 if t.is_floating_point else int(t != _C.bool)


def _stronger(high, low):
    """The weaker dtype ``low`` matters only where its category is higher."""
    if _category(low) <= _category(high):
        return high
    if low.is_complex and high.is_floating_point:
        return _C.complex128 if high == _C.float64 else _C.complex64
    return _C.promote_types(high, low)


_DIM_NAMES = {"dim", "dims", "dim0", "dim1", "dim2", "dimension"}


def has_dims(op):
    return any(a.name in _DIM_NAMES for a in op.args)


def along(call):
    """Arguments called dim, dims, ... are shifted; all tensors have the batch at the front."""
    op = call.op
    tensors = [i for i in op.tensors if isinstance(call.args[i], Tensor)]
    if len(tensors) == 1 or all(call.batched[i] for i in tensors):
        args = call.map(call.front)
    else:
        args = call.map(call.full)
    rank = call.rank()
    scalar = rank == 0
    if scalar:  # a tensor without dimensions may be addressed by 0 and -1
        args = [ops.unsqueeze(a, 1) if isinstance(a, Tensor) else a for a in args]
        rank = 1
    for i, a in enumerate(op.args):
        if a.name in _DIM_NAMES and a.type.startswith("int"):
            given = args[i]
            if given is None or (a.type.startswith("int[") and len(given) == 0):
                if a.type.startswith("int["):  # all of them
                    args[i] = tuple(range(1, rank + 1))
                continue
            if isinstance(given, int):
                args[i] = shifted(given, rank)
            else:
                args[i] = tuple([shifted(d, rank) for d in given])
    result = op.call(args)
    if scalar:
        squeeze = lambda t: ops.squeeze(t, 1) if t.dim() == 2 else t  # noqa: E731
        return tuple(map(squeeze, result)) if isinstance(result, tuple) else squeeze(result)
    return result


def leading(call):
    """The operator takes any number of leading dimensions."""
    if sum(isinstance(call.args[i], Tensor) for i in call.op.tensors) == 1:
        return call.op.call(call.map(call.front))
    return call.op.call(call.map(call.full))


def loop(call):
    """Without a rule: entry by entry."""
    warnings.warn(
        "There is a performance drop because we have not yet implemented the batching rule for "
        f"aten::{call.op.entry.base}{call.op.form}. Please file us an issue on GitHub so that "
        f"we can "
        "prioritize its implementation.",
        UserWarning,
        stacklevel=2,
    )
    if call.size == 0:
        raise RuntimeError(
            f"vmap: {call.op.entry.base} has no batching rule, and a loop over no entries has "
            f"no result"
        )
    rows = [
        call.map(lambda t, i=i: ops.select(call.front(t), 0, i) if call.is_batched(t) else t)
        for i in range(call.size)
    ]
    results = [call.op.call(row) for row in rows]
    if call.op.changes:
        return None
    if isinstance(results[0], tuple):
        return tuple([ops.stack(list(r)) for r in zip(*results)])
    if isinstance(results[0], Tensor):
        return ops.stack(results)
    return dynamic(call)
