"""Batching rules of what layers consist of: products, convolutions, norms, losses of classes."""

from __future__ import annotations

from flambeau._C import Tensor, ops

from .batching import Moved, count, loop

# ---- samples and channels ------------------------------------------------------------------------


def fold(call):
    """The batch joins the first dimension; `size` arguments that begin with it grow."""
    op, n = call.op, call.size
    args = call.map(call.full)
    rows = 0
    for i in op.tensors:
        if isinstance(args[i], Tensor):
            rows = args[i].shape[1]
            args[i] = ops.flatten(args[i], 0, 1)
    for i, a in enumerate(op.args):
        if a.name == "size" and a.type == "int[]" and op.entry.name not in ("_resize", "_col2im"):
            args[i] = (n * args[i][0], *args[i][1:])
    if op.entry.name == "_col2im" and len(args[op.position["size"]]) > 2:
        size = args[op.position["size"]]
        args[op.position["size"]] = (n * size[0], *size[1:])
    result = op.call(args)

    def split(t):
        return ops.unflatten(t, 0, (n, rows))

    return tuple(map(split, result)) if isinstance(result, tuple) else split(result)


def channels(call):
    """Batch statistics: the batch joins the channels."""
    op, n = call.op, call.size
    args, wide = call.map(call.full), {"input", "grad_output"}
    if op.entry.name == "_channel_affine":
        wide = {"self"}
    for i in op.tensors:
        if not isinstance(args[i], Tensor):
            continue
        if op.args[i].name in wide:
            args[i] = ops.flatten(ops.movedim(args[i], 0, 1), 1, 2)
        else:
            args[i] = ops.flatten(args[i], 0, 1)
    result = op.call(args)
    outs = result if isinstance(result, tuple) else (result,)
    parts: list[object] = []
    for t in outs:
        if t is None:
            parts.append(None)
        elif t.dim() == 1:
            parts.append(ops.unflatten(t, 0, (n, t.shape[0] // n if n else 0)))
        else:
            parts.append(Moved(ops.unflatten(t, 1, (n, t.shape[1] // n if n else 0)), 1))
    return tuple(parts) if isinstance(result, tuple) else parts[0]


def layer_norm(call):
    args = call.map(call.front)
    at = call.op.position
    given = [n for n in ("weight", "bias") if n in at and call[n] is not None]
    rank = call["input"].dim()
    if not call.has("input"):
        args[at["input"]] = call.full(call["input"])
    if not any(call.has(n) for n in given):
        return call.op.call(args)
    for n in given:
        args[at[n]] = None
    out, *rest = call.op.call(args)
    shape = lambda t: (*[1] * (rank - t.dim()), *t.shape)  # noqa: E731
    for n in given:
        value = call.front(call[n])
        value = ops.reshape(value, (call.size, *shape(call[n]))) if call.has(n) else value
        out = ops.mul(out, value) if n == "weight" else ops.add(out, value)
    return (out, *rest)


def group_norm(call):
    at, n = call.op.position, call.size
    args = list(call.args)
    x = call.full(call["input"])
    rows, rank = x.shape[1], x.dim() - 1
    args[at["input"]] = ops.flatten(x, 0, 1)
    given = [name for name in ("weight", "bias") if call[name] is not None]
    apart = any(call.has(name) for name in given)
    for name in given:
        if apart:
            args[at[name]] = None
    out, *rest = call.op.call(args)
    out = ops.unflatten(out, 0, (n, rows))
    for name in given if apart else ():
        value = call.front(call[name])
        tail = (value.shape[-1], *[1] * (rank - 2))
        value = ops.reshape(value, (n, 1, *tail) if call.has(name) else (1, *tail))
        out = ops.mul(out, value) if name == "weight" else ops.add(out, value)
    return (out, *[ops.unflatten(t, 0, (n, rows)) for t in rest])


def conv_forward(call):
    at, n = call.op.position, call.size
    args = list(call.args)
    x, w, bias = call["self"], call["weight"], call["bias"]
    rank = x.dim()
    apart = bias is not None and call.has("bias") and not call.has("weight")
    if apart:
        args[at["bias"]] = None
    if not call.has("weight"):
        if not call.has("self"):  # only the bias
            out = call.op.call(args)
            return ops.add(out, ops.reshape(call.front(bias), (n, 1, -1, *[1] * (rank - 2))))
        value = call.front(x)
        args[at["self"]] = ops.flatten(value, 0, 1)
        out = ops.unflatten(call.op.call(args), 0, (n, value.shape[1]))
        if apart:
            out = ops.add(out, ops.reshape(call.front(bias), (n, 1, -1, *[1] * (rank - 2))))
        return out
    weight = call.front(w)
    if not call.has("self") and call["groups"] == 1:
        args[at["self"]] = x
    else:
        args[at["self"]] = ops.flatten(ops.movedim(call.full(x), 0, 1), 1, 2)
        args[at["groups"]] = call["groups"] * n
    args[at["weight"]] = ops.flatten(weight, 0, 1)
    if bias is not None:
        args[at["bias"]] = ops.flatten(call.full(bias), 0, 1)
    return Moved(ops.unflatten(call.op.call(args), 1, (n, weight.shape[1])), 1)


def conv_input_grad(call):
    at, n = call.op.position, call.size
    args, size = list(call.args), call["size"]
    if not call.has("weight"):
        value = call.front(call["grad_output"])
        args[at["grad_output"]] = ops.flatten(value, 0, 1)
        args[at["size"]] = (n * size[0], *size[1:])
        return ops.unflatten(call.op.call(args), 0, (n, size[0]))
    args[at["grad_output"]] = ops.flatten(ops.movedim(call.full(call["grad_output"]), 0, 1), 1, 2)
    args[at["weight"]] = ops.flatten(call.front(call["weight"]), 0, 1)
    args[at["groups"]] = call["groups"] * n
    args[at["size"]] = (size[0], n * size[1], *size[2:])
    return Moved(ops.unflatten(call.op.call(args), 1, (n, size[1])), 1)


def conv_weight_grad(call):
    at, n = call.op.position, call.size
    args, size = list(call.args), call["size"]
    for name in ("grad_output", "self"):
        args[at[name]] = ops.flatten(ops.movedim(call.full(call[name]), 0, 1), 1, 2)
    args[at["groups"]] = call["groups"] * n
    args[at["size"]] = (n * size[0], *size[1:])
    return ops.unflatten(call.op.call(args), 0, (n, size[0]))


def matrices(call):
    """Linear algebra: leading dimensions of several matrices are aligned from the right."""
    op = call.op
    tensors = [i for i in op.tensors if isinstance(call.args[i], Tensor)]
    if len(tensors) == 1:
        return _nothing_left(call, op.call(call.map(call.front)))
    first = call.args[tensors[0]]
    core = {}
    for i in tensors:
        t, name = call.args[i], op.args[i].name
        core[i] = {"pivots": 1, "LU_pivots": 1, "tau": 1, "atol": 0, "rtol": 0}.get(name, 2)
        if op.entry.name in ("_linalg_solve_ex", "linalg_lstsq") and i != tensors[0]:
            vector = t.dim() == first.dim() - 1 and t.shape == first.shape[:-1]
            core[i] = 1 if vector or t.dim() == 1 else 2
    lead = max(call.args[i].dim() - core[i] for i in tensors)
    args = list(call.args)
    for i in tensors:
        t, value = call.args[i], call.full(call.args[i])
        missing = lead - (t.dim() - core[i])
        if missing:
            value = ops.reshape(value, (call.size, *[1] * missing, *t.shape))
        args[i] = value
    return _nothing_left(call, op.call(args))


def _nothing_left(call, result):
    """A result without elements may come without the batch (residuals of lstsq)."""
    if not isinstance(result, tuple):
        return result
    return tuple(
        [
            ops.expand(t, (call.size, 0)) if t is not None and tuple(t.shape) == (0,) else t
            for t in result
        ]
    )


# ---- products ------------------------------------------------------------------------------------


def mm(call):
    return ops.matmul(*call.map(call.front))


def bmm(call):
    return ops.matmul(*call.map(call.front))


def linear(call):
    x, w, bias = call["self"], call["weight"], call["bias"]
    if not call.has("weight"):
        if bias is not None and call.has("bias"):
            out = ops.linear(call.front(x), w)
            value = call.front(bias)
            rank = x.dim()
            return ops.add(out, ops.reshape(value, (call.size, *[1] * (rank - 1), -1)))
        return ops.linear(call.front(x), w, bias)
    n, weight = call.size, call.front(w)
    turned = ops.transpose(weight, -2, -1) if w.dim() > 1 else ops.unsqueeze(weight, -1)
    value = call.front(x)
    lead = x.shape[:-1]
    if call.has("self"):
        value = ops.reshape(value, (n, count(lead), x.shape[-1]))
    else:
        value = ops.reshape(value, (count(lead), x.shape[-1]))
    out = ops.matmul(value, turned)
    if bias is not None:
        b = call.front(bias)
        out = ops.add(out, ops.reshape(b, (n, 1, -1)) if call.has("bias") else b)
    return ops.reshape(out, (n, *lead, *w.shape[:-1]))


# ---- losses of classes ---------------------------------------------------------------------------


def _class_weights(call, target):
    keep = target != call["ignore_index"]
    if call["weight"] is None:
        return keep
    safe = ops.where(keep, target, ops.zeros_like(target))
    return ops.mul(ops.index(call["weight"], (safe,)), keep)


def class_loss(call):
    if call["weight"] is not None and call.has("weight"):
        return loop(call)
    at, n, args = call.op.position, call.size, list(call.args)
    x, target = call.full(call["self"]), call.full(call["target"])
    single = call["self"].dim() == 1
    rows = 1 if single else x.shape[1]
    args[at["self"]] = x if single else ops.flatten(x, 0, 1)
    args[at["target"]] = target if single else ops.flatten(target, 0, 1)
    if single and target.dim() == 2:
        args[at["target"]] = ops.reshape(target, (n,))
    args[at["reduction"]] = 0
    losses, _, *rest = call.op.call(args)
    losses = ops.reshape(losses, (n, -1)) if single else ops.unflatten(losses, 0, (n, rows))
    weights = ops.reshape(_class_weights(call, target), (n, -1)).to(losses.dtype)
    total = ops.sum(weights, 1)
    rest = tuple([ops.reshape(r, (n, -1)) for r in rest])
    if call["reduction"] == 0:
        return (ops.reshape(losses, (n, *call["target"].shape)), total, *rest)
    out = ops.sum(ops.reshape(losses, (n, -1)), 1)
    return (out / total if call["reduction"] == 1 else out, total, *rest)


def class_loss_backward(call):
    if call["weight"] is not None and call.has("weight"):
        return loop(call)
    at, n = call.op.position, call.size
    args, size = list(call.args), call["size"]
    target, grad = call.full(call["target"]), call.full(call["grad_output"])
    single = len(size) == 1
    if call["reduction"]:
        shape = (n, *[1] * (target.dim() - 1))
        if call["reduction"] == 1:
            grad = grad / ops.reshape(call.full(call["total_weight"]), (n,))
        grad = ops.expand(ops.reshape(grad, shape), target.shape)
    if single:
        args[at["target"]], args[at["grad_output"]] = (
            ops.reshape(target, (n,)),
            ops.reshape(grad, (n,)),
        )
        args[at["size"]] = (n, *size)
    else:
        args[at["target"]], args[at["grad_output"]] = (
            ops.flatten(target, 0, 1),
            ops.flatten(grad, 0, 1),
        )
        args[at["size"]] = (n * size[0], *size[1:])
    args[at["reduction"]] = 0
    args[at["total_weight"]] = ops.ones((), dtype=grad.dtype)
    out = call.op.call(args)
    return out if single else ops.unflatten(out, 0, (n, size[0]))
