"""Batching rules of indexing, gathering, scattering and embeddings."""

from __future__ import annotations

from flambeau._C import Tensor, ops

from .batching import Moved, dynamic, loop, shifted


def _is_mask(t):
    return str(t.dtype) in ("torch.bool", "torch.uint8")


def _split_masks(call, indices):
    """Masks as positions; the list of a mask of several dimensions grows."""
    out: list[object] = []
    for t in indices:
        if isinstance(t, Tensor) and _is_mask(t):
            if call.is_batched(t):
                dynamic(call)
            out += ops.unbind(ops.nonzero(t), 1)
        else:
            out.append(t)
    return out


def _joined(call, indices):
    """The indices as values of one rank, where their dimensions go in the result, and the rank."""
    given = [i for i, t in enumerate(indices) if t is not None]
    rank = max(indices[i].dim() for i in given)
    aligned = [t if t is None else call.aligned(t, rank) for t in indices]
    adjacent = given[-1] - given[0] + 1 == len(given)
    place = given[0] if adjacent else 0
    return aligned, place, rank


def _entry_numbers(call, rank, like):
    return ops.reshape(ops.arange(call.size, device=like.device), (call.size, *[1] * rank))


def index(call):
    indices = _split_masks(call, call["indices"])
    t = call["self"]
    aligned, place, rank = _joined(call, indices)
    shape = _broadcast([i.shape for i in indices if i is not None])
    if not any(call.is_batched(i) for i in indices):
        result = ops.index(call.front(t), (None, *indices))
        given = [i for i, x in enumerate(indices) if x is not None]
        adjacent = given[-1] - given[0] + 1 == len(given)
        return result if adjacent else Moved(result, len(shape))
    if not call.has("self"):
        return Moved(ops.index(t, tuple(aligned)), place)
    value = call.front(t)
    result = ops.index(value, (_entry_numbers(call, rank, value), *aligned))
    if place == 0:
        return result
    k = len(shape)
    order = [0, *range(1 + k, 1 + k + place), *range(1, 1 + k), *range(1 + k + place, result.dim())]
    return ops.permute(result, tuple(order))


def _broadcast(shapes):
    rank = max(map(len, shapes))
    out = [1] * rank
    for s in shapes:
        for i, n in enumerate(s):
            at = rank - len(s) + i
            if n != 1:
                out[at] = n
    return tuple(out)


def index_put_(call):
    t, values, accumulate = call["self"], call["values"], call["accumulate"]
    masks = [i for i in call["indices"] if i is not None]
    if len(masks) == 1 and _is_mask(masks[0]) and call.is_batched(masks[0]):
        if values.numel() == 1 and not accumulate and call["indices"][0] is not None:
            mask = call.front(masks[0])
            mask = ops.reshape(mask, (*mask.shape, *[1] * (t.dim() - masks[0].dim())))
            target, v = call.front(t), call.front(values)
            v = ops.reshape(v, (call.size, *[1] * t.dim())) if call.has("values") else v.reshape(())
            ops.copy_(target, ops.where(mask, v.to(target.dtype), target))
            return
        dynamic(call)
    indices = _split_masks(call, call["indices"])
    aligned, place, rank = _joined(call, indices)
    shape = _broadcast([i.shape for i in indices if i is not None])
    target = call.front(t)
    k, given = len(shape), [i for i, x in enumerate(indices) if x is not None]
    others = [s for i, s in enumerate(t.shape) if i not in given]
    full = (*others[:place], *shape, *others[place:])
    v = ops.expand(
        call.aligned(values, len(full)) if call.has("values") else values, (call.size, *full)
    )
    if place:
        order = [
            0,
            *range(1 + place, 1 + place + k),
            *range(1, 1 + place),
            *range(1 + place + k, v.dim()),
        ]
        v = ops.permute(v, tuple(order))
    ops.index_put_(target, (_entry_numbers(call, rank, target), *aligned), v, accumulate)
    return


def _flat_rows(call, value, dim):
    """(B, ..., n, ...) as (B * n, ...), and how to undo it."""
    moved = ops.movedim(value, dim + 1, 1)
    return ops.flatten(moved, 0, 1), moved.shape[1]


def along_index(call):
    """index_select, index_add, index_copy, index_fill, index_reduce."""
    op, at, n = call.op, call.op.position, call.size
    t = call["self"]
    scalar = t.dim() == 0
    dim = shifted(call["dim"], max(t.dim(), 1)) - 1
    args = list(call.args)
    if not call.has("index"):
        for i in op.tensors:
            if op.args[i].name == "value":
                if call.batched[i]:
                    return _fill_batch(call, dim)
            elif op.args[i].name != "index":
                args[i] = call.full(args[i])
                if call.args[i].dim() == 0:
                    args[i] = ops.unsqueeze(args[i], 1)
        args[at["dim"]] = dim + 1
        result = op.call(args)
        return ops.squeeze(result, 1) if scalar and result.dim() == 2 else result
    if "value" in at and call.has("value"):
        return _fill_batch(call, dim)
    value = call.full(t)
    if scalar:
        value = ops.unsqueeze(value, 1)
    rows, size = _flat_rows(call, value, dim)
    numbers = call.front(call["index"])
    numbers = ops.reshape(numbers, (n, -1))
    count = numbers.shape[1]
    numbers = ops.where(numbers < 0, numbers + size, numbers)
    numbers = ops.reshape(numbers + _entry_numbers(call, 1, numbers) * size, (-1,))
    args[at["self"]], args[at["dim"]], args[at["index"]] = rows, 0, numbers
    if "source" in at:
        source = call.full(call["source"])
        if call["source"].dim() == 0:
            source = ops.unsqueeze(source, 1)
        args[at["source"]] = ops.flatten(ops.movedim(source, dim + 1, 1), 0, 1)
    out = ops.unflatten(op.call(args), 0, (n, count if op.entry.base == "index_select" else size))
    out = ops.movedim(out, 1, dim + 1)
    return ops.squeeze(out, 1) if scalar and out.shape[1] == 1 else out


def _fill_batch(call, dim):
    """index_fill with a value for each entry."""
    t, n = call["self"], call.size
    value = call.full(t)
    mask = ops.zeros(value.shape, dtype=ops.eq(ops.empty(()), 0).dtype, device=value.device)
    numbers = ops.reshape(call.full(call["index"]), (n, -1))
    numbers = ops.where(numbers < 0, numbers + t.shape[dim], numbers)
    shape = [n, *[1] * t.dim()]
    shape[dim + 1] = numbers.shape[1]
    whole_shape = list(value.shape)
    whole_shape[dim + 1] = numbers.shape[1]
    mask = ops.scatter(mask, dim + 1, ops.expand(ops.reshape(numbers, shape), whole_shape), True)
    fill = ops.reshape(call.front(call["value"]), (n, *[1] * t.dim()))
    return ops.where(mask, fill.to(value.dtype), value)


def gather(call):
    """gather and scatters: all tensors as batches; what has no dimensions gets one."""
    args, op = call.map(call.full), call.op
    t = call["self"]
    dim = shifted(call["dim"], max(t.dim(), 1))
    for i in op.tensors:
        if isinstance(args[i], Tensor) and args[i].dim() == 1:
            args[i] = ops.unsqueeze(args[i], 1)
    args[op.position["dim"]] = dim
    out = op.call(args)
    lone = call["index"].dim() == 0 if op.entry.base == "gather" else t.dim() == 0
    return ops.squeeze(out, 1) if lone else out


def embedding(call):
    w, idx, pad_at = call["weight"], call["indices"], call["padding_idx"]
    if not call.has("weight"):
        return call.op.call(call.map(call.front))
    weight, n = call.front(w), call.size
    rows, width = w.shape
    numbers = call.front(idx)
    offsets = _entry_numbers(call, idx.dim(), numbers) * rows
    out = ops.embedding(ops.reshape(weight, (n * rows, width)), numbers + offsets)
    if pad_at >= 0:  # no gradient there
        keep = ops.unsqueeze(numbers != pad_at, -1)
        out = ops.where(keep, out, out.detach())
    return out


def embedding_backward(call):
    if call["scale_grad_by_freq"]:
        return loop(call)
    rows, width = call["size"]
    n = call.size
    grad, numbers = call.full(call["grad_output"]), call.full(call["indices"])
    if call["padding_idx"] >= 0:
        grad = ops.mul(grad, ops.unsqueeze(numbers != call["padding_idx"], -1))
    offsets = _entry_numbers(call, call["indices"].dim(), numbers) * rows
    out = ops.embedding_backward(grad, numbers + offsets, (n * rows, width), -1, False)
    return ops.reshape(out, (n, rows, width))


def one_hot(call):
    if call["num_classes"] == -1:
        dynamic(call)
    return call.op.call(call.map(call.front))


def put(call):
    t, n = call["self"], call.size
    flat = ops.reshape(call.full(t), (n * t.numel(),))
    numbers = call.full(call["index"])
    numbers = ops.where(numbers < 0, numbers + t.numel(), numbers)
    numbers = numbers + _entry_numbers(call, call["index"].dim(), numbers) * t.numel()
    out = ops.put(flat, numbers, call.full(call["source"]), call["accumulate"])
    return ops.reshape(out, (n, *t.shape))
