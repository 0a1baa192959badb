"""Random operators under vmap: one draw for all entries, one for each, or none."""

from __future__ import annotations

from flambeau._C import Tensor, ops

from .batching import Moved


def random_rule(call):
    mode = call.level.randomness
    if mode == "error":
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the "
            "'same' or 'different' randomness flags on vmap or perform the randomness "
            "operation out "
            "of vmap"
        )
    if call.op.entry.name in ("_dropout", "_rrelu"):
        return _masked(call, mode)
    if call.op.changes:
        return _in_place(call, mode)
    tensors = [i for i in call.op.tensors if isinstance(call.args[i], Tensor)]
    if mode == "same":
        if call.any_batched():
            if "_like" in call.op.entry.base:
                return call.op.call([ops.select(call.front(call.args[0]), 0, 0), *call.args[1:]])
            raise RuntimeError(
                "Vmap does not currently support same randomness with a batched tensor input"
            )
        return call.op.call(call.args)
    args = list(call.args)
    at = call.op.position
    if tensors:
        result = _drawn(call)
    elif "size" in at:
        args[at["size"]] = (call.size, *args[at["size"]])
        result = call.op.call(args)
    else:  # randperm
        result = ops.stack([call.op.call(args) for _ in range(call.size)])
    return call.finish(result)


def _drawn(call):
    args, op = call.map(call.full), call.op
    if op.entry.name == "multinomial" and call["self"].dim() == 2:
        rows = args[0].shape[1]
        args[0] = ops.flatten(args[0], 0, 1)
        return ops.unflatten(op.call(args), 0, (call.size, rows))
    return op.call(args)


def _masked(call, mode):
    x = call["self"]
    if mode == "different":
        return call.finish(call.op.call(call.map(call.full)))
    if not call.any_batched():
        return call.op.call(call.args)
    value = call.front(x)
    ones = ops.ones(tuple(x.shape), dtype=x.dtype)
    if call.op.entry.name == "_rrelu":
        _, noise = call.op.call([-ones, *call.args[1:]])
        noise = ops.where(value > 0, ops.ones_like(value), noise)
        return call.finish((ops.mul(value, noise), noise))
    scaled, mask = call.op.call([ones, *call.args[1:]])
    return call.finish((ops.mul(value, scaled), ops.expand(mask, value.shape)))


def _in_place(call, mode):
    target = call.args[0]
    batched = call.batched[0]
    others = any(call.batched[1:])
    if not batched:
        if mode == "different":
            raise RuntimeError(
                "vmap: Cannot ask for different inplace randomness on an unbatched tensor. "
                "This will "
                "appear like same randomness. If this is necessary for your usage, please file an "
                "issue with functorch."
            )
        if others:
            raise RuntimeError(
                "vmap: an in-place random operator got parameters that are a batch for a "
                "tensor that "
                "is none"
            )
        call.op.call(call.args)
        return target
    if mode == "different":
        args = call.map(call.front)
        for i in call.op.tensors[1:]:
            if isinstance(args[i], Tensor):
                args[i] = call.aligned(call.args[i], target.dim())
        call.op.call(args)
        return target
    if others:
        raise RuntimeError(
            "Vmap does not currently support same randomness with a batched tensor input"
        )
    value = call.front(target)
    one = ops.empty(tuple(target.shape), dtype=target.dtype)
    call.op.call([one, *call.args[1:]])
    ops.copy_(value, one, False)
    return target


__all__ = ["Moved", "random_rule"]
