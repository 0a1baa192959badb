"""Batching rules of operators for which one does not follow from the table's kinds."""

from __future__ import annotations

from flambeau._C import Tensor, contiguous_format, ops

from . import rules_index as index
from . import rules_layers as layers
from .batching import Moved, along, count, dynamic, has_dims, leading, loop, pointwise, shifted

# What the kernels of a family take: leading dimensions of any number, or (N, C, ...) where samples
# do not interact.
_FAMILIES = {"linalg": "matrices", "pool": "fold", "vision": "fold"}


def find_rule(op):
    entry = op.entry
    word = entry.batch or _FAMILIES.get(entry.family)
    if entry.name in RULES:
        return RULES[entry.name]
    if op.form == "_" and entry.kernel.kind != "pointwise":
        return loop
    if entry.kernel.kind == "pointwise":
        return pointwise
    if word:
        return WORDS[word]
    if has_dims(op):
        return along
    return loop


# ---- views and shapes ----------------------------------------------------------------------------


def view(call):
    t = call["self"]
    size = list(call["size"])
    if -1 in size:
        rest = count([s for s in size if s != -1])
        if size.count(-1) > 1 or rest == 0 or t.numel() % rest:
            ops.view(ops.empty(t.shape, device="meta"), size)  # its error
        size[size.index(-1)] = t.numel() // rest
    return ops.view(call.front(t), (call.size, *size))


def view_dtype(call):
    return ops.view(call.front(call["self"]), dtype=call["dtype"])


def expand(call):
    t, size = call["self"], call["size"]
    value = call.aligned(t, max(len(size), t.dim()))
    return ops.expand(value, (call.size, *size))


def unsqueeze(call):
    return ops.unsqueeze(call.front(call["self"]), shifted(call["dim"], call["self"].dim() + 1))


def diag_embed(call):
    t, rank = call["self"], call["self"].dim() + 1
    dims = [shifted(call[k], rank) for k in ("dim1", "dim2")]
    return ops.diag_embed(call.front(t), call["offset"], *dims)


def permute(call):
    t, dims = call["self"], call["dims"]
    return ops.permute(call.front(t), (0, *[shifted(d, t.dim()) for d in dims]))


def transpose(call):
    t = call["self"]
    if t.dim() == 0:
        return ops.alias(call.front(t))
    a, b = (shifted(call[k], t.dim()) for k in ("dim0", "dim1"))
    return ops.transpose(call.front(t), a, b)


def squeeze(call):
    dims = tuple([i + 1 for i, s in enumerate(call["self"].shape) if s == 1])
    return ops.squeeze(call.front(call["self"]), dims)


def squeeze_dim(call):
    t, dims = call["self"], call["dim"]
    value = call.front(t)
    if t.dim() == 0:
        return ops.alias(value)
    dims = [dims] if isinstance(dims, int) else dims
    return ops.squeeze(value, tuple([shifted(d, t.dim()) for d in dims]))


def unfold(call):
    t = call["self"]
    value = call.front(t)
    if t.dim() == 0:
        value = ops.unsqueeze(value, 1)
    dim = shifted(call["dimension"], max(t.dim(), 1))
    out = ops.unfold(value, dim, call["size"], call["step"])
    return ops.squeeze(out, 1) if t.dim() == 0 else out


def as_strided(call):
    value = call.front(call["self"])
    offset = call["storage_offset"]
    return ops.as_strided(
        value, (call.size, *call["size"]), (value.stride(0), *call["stride"]), offset
    )


def as_strided_scatter(call):
    t, offset = call["self"], call["storage_offset"]
    if not t.is_contiguous():
        return loop(call)
    start = 0 if offset is None else offset - t.storage_offset()
    out = ops.clone(call.full(t), memory_format=contiguous_format)
    part = ops.as_strided(
        out, (call.size, *call["size"]), (t.numel(), *call["stride"]), out.storage_offset() + start
    )
    ops.copy_(part, call.front(call["src"]))
    return out


def _extent(size, stride, offset):
    if 0 in size:
        return offset
    return offset + sum((n - 1) * s for n, s in zip(size, stride)) + 1


def strided(call):
    """_strided_scatter and _strided_gather: the batch as one more dimension, far apart."""
    args, at = call.map(call.full), call.op.position
    base = call["base_size"], call["base_stride"], call["base_offset"]
    part = call["size"], call["stride"], call["offset"]
    step = max(_extent(*base), _extent(*part), 1)
    for names, (size, stride, _) in (
        (("base_size", "base_stride"), base),
        (("size", "stride"), part),
    ):
        args[at[names[0]]] = (call.size, *size)
        args[at[names[1]]] = (step, *stride)
    return call.op.call(args)


def same_layout(call):
    """One tensor, whose dimensions keep their order: the batch stays where it is."""
    from .interpreter import _transform_of

    record = _transform_of(call.args[0])
    args = [record[3], *call.args[1:]]
    return Moved(call.op.call(args), record[5])


def clone(call):
    form = call["memory_format"]
    text = str(form)
    value = call.front(call["self"])
    if form is None or "preserve" in text:
        return same_layout(call)
    if "channels_last" in text:
        flat = ops.flatten(value, 0, 1)
        out = ops.clone(flat, memory_format=form)
        return ops.unflatten(out, 0, (call.size, value.shape[1]))
    return ops.clone(value, memory_format=form)


def like(call):
    """zeros_like and others: as clone."""
    form = call["memory_format"] if "memory_format" in call.op.position else None
    if form is None or "preserve" in str(form):
        return same_layout(call)
    args = list(call.args)
    args[0] = call.front(args[0])
    if "channels_last" in str(form):
        rows = args[0].shape[1]
        args[0] = ops.flatten(args[0], 0, 1)
        return ops.unflatten(call.op.call(args), 0, (call.size, rows))
    return call.op.call(args)


def cat(call):
    tensors = [t for t in call["tensors"] if t.dim() != 1 or t.shape[0] != 0]
    if not tensors:
        tensors = list(call["tensors"])
    rank = tensors[0].dim()
    if rank == 0:
        raise RuntimeError("zero-dimensional tensor (at position 0) cannot be concatenated")
    return ops.cat([call.full(t) for t in tensors], shifted(call["dim"], rank))


def repeat(call):
    t, repeats = call["self"], call["repeats"]
    return ops.repeat(call.aligned(t, len(repeats)), (1, *repeats))


def flip(call):
    t = call["self"]
    if t.dim() == 0:
        return ops.clone(call.front(t))
    return ops.flip(call.front(t), tuple([shifted(d, t.dim()) for d in call["dims"]]))


def roll(call):
    t, dims = call["self"], call["dims"]
    value = call.front(t)
    if len(dims) == 0:
        if len(call["shifts"]) != 1:
            raise RuntimeError(
                f"shifts and dimensions must align. shifts: {len(call['shifts'])}, dims:0"
            )
        flat = ops.reshape(value, (call.size, t.numel()))
        return ops.reshape(ops.roll(flat, call["shifts"], (1,)), (call.size, *t.shape))
    return ops.roll(value, call["shifts"], tuple([shifted(d, t.dim()) for d in dims]))


def pad(call):
    t = call["self"]
    if len(call["pad"]) > 2 * t.dim():
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. "
            f"Pad length is {len(call['pad'])} while the input has {t.dim()} dimensions."
        )
    return call.op.call(call.map(call.front))


def triangle(call):
    if call["self"].dim() < 2:
        raise RuntimeError(f"{call.op.entry.base}: input tensor must have at least 2 dimensions")
    return call.op.call(call.map(call.front))


# ---- reductions ----------------------------------------------------------------------------------


def whole(name, **keywords):
    """The operator over all dimensions, as one over a flattened second dimension."""

    def rule(call):
        t = call.args[0]
        flat = ops.reshape(call.front(t), (call.size, t.numel()))
        extra = {"dtype": call["dtype"]} if "dtype" in call.op.position else {}
        out = getattr(ops, name)(flat, 1, **extra)
        return out[0] if isinstance(out, tuple) else out

    return rule


def arg_extreme(call):
    t = call["self"]
    if call["dim"] is not None:
        return along(call)
    flat = ops.reshape(call.front(t), (call.size, t.numel()))
    out = getattr(ops, call.op.entry.base)(flat, 1)
    return ops.reshape(out, (call.size, *[1] * t.dim())) if call["keepdim"] else out


def aminmax(call):
    t, dim = call["self"], call["dim"]
    if dim is not None:
        return along(call)
    flat = ops.reshape(call.front(t), (call.size, t.numel()))
    outs = ops.aminmax(flat, dim=1)
    if call["keepdim"]:
        return tuple([ops.reshape(o, (call.size, *[1] * t.dim())) for o in outs])
    return tuple(outs)


def sum_to_size(call):
    t, size = call["self"], call["size"]
    return ops.sum_to_size(call.front(t), (call.size, *[1] * (t.dim() - len(size)), *size)).reshape(
        (call.size, *size)
    )


def searchsorted(call):
    seq, x, n = call["sorted_sequence"], call["self"], call.size
    if not call.has("sorted_sequence") and seq.dim() == 1 and call["sorter"] is None:
        return call.op.call(call.map(call.front))
    args, at = call.map(call.full), call.op.position
    if seq.dim() == 1:
        args[at["self"]] = ops.reshape(args[at["self"]], (n, x.numel()))
        return ops.reshape(call.op.call(args), (n, *x.shape))
    return call.op.call(args)


# ---- changes in place ----------------------------------------------------------------------------


def copy_(call):
    t, src = call["self"], call["src"]
    ops.copy_(call.front(t), call.aligned(src, t.dim()), call["non_blocking"])


def fill_(call):
    t, value = call["self"], call["value"]
    if isinstance(value, Tensor) and call.has("value"):
        ops.copy_(call.front(t), ops.reshape(call.front(value), (call.size, *[1] * t.dim())), False)
    else:
        ops.fill_(call.front(t), value)


WORDS = {
    "matrices": layers.matrices,
    "pointwise": pointwise,
    "along": along,
    "leading": leading,
    "fold": layers.fold,
    "channels": layers.channels,
    "dynamic": dynamic,
    "loop": loop,
}

RULES = {
    "view": view, "view_dtype": view_dtype, "expand": expand, "permute": permute,
    "transpose": transpose, "unsqueeze": unsqueeze, "squeeze": squeeze, "squeeze_dim": squeeze_dim,
    "squeeze_dims": squeeze_dim, "unfold": unfold, "as_strided": as_strided,
    "as_strided_scatter": as_strided_scatter, "put": index.put,
    "diag_embed": diag_embed, "_strided_scatter": strided, "_strided_gather": strided,
    "alias": same_layout, "_to_dtype": same_layout, "clone": clone, "empty_like": like,
    "zeros_like": like, "ones_like": like, "full_like": like, "view_as_real": leading,
    "view_as_complex": leading, "cat": cat, "repeat": repeat, "flip": flip, "roll": roll,
    "constant_pad_nd": pad, "_pad_from_inside": leading, "_pad_from_inside_backward": None,
    "tril": triangle, "triu": triangle,
    "sum": whole("sum"), "mean": whole("mean"), "prod": whole("prod"), "max": whole("amax"),
    "min": whole("amin"), "any": whole("any"), "all": whole("all"), "median": whole("median"),
    "nanmedian": whole("nanmedian"), "argmax": arg_extreme, "argmin": arg_extreme,
    "aminmax": aminmax, "sum_to_size": sum_to_size, "searchsorted": searchsorted,
    "index": index.index, "index_put_": index.index_put_, "index_select": index.along_index,
    "index_add": index.along_index, "index_copy": index.along_index,
    "index_fill": index.along_index,
    "index_reduce": index.along_index, "gather": index.gather, "scatter": index.gather,
    "scatter_value": index.gather,
    "scatter_reduce": index.gather, "scatter_value_reduce": index.gather,
    "scatter_add": index.gather,
    "scatter_reduce_two": index.gather, "embedding": index.embedding,
    "embedding_backward": index.embedding_backward, "one_hot": index.one_hot,
    "_nll_loss": layers.class_loss, "_cross_entropy": layers.class_loss,
    "_nll_loss_backward": layers.class_loss_backward, "copy_": copy_, "fill_": fill_,
    "mm": layers.mm, "bmm": layers.bmm, "linear": layers.linear,
    "conv_forward": layers.conv_forward,
    "conv_input_grad": layers.conv_input_grad, "conv_weight_grad": layers.conv_weight_grad,
    "native_layer_norm": layers.layer_norm, "_rms_norm": layers.layer_norm,
    "_group_norm": layers.group_norm,
    "_batch_norm": layers.channels, "_batch_norm_backward": layers.channels,
    "_channel_products": layers.channels,
    "_channel_affine": layers.channels, "complex": pointwise, "frexp": leading, "mvlgamma": leading,
    "_standard_gamma_grad": leading, "_dirichlet_grad": leading, "_dropout_backward": leading,
    "_euclidean_dist": leading, "nonzero": dynamic, "_unique": dynamic, "equal": dynamic,
}  # fmt: skip
RULES = {name: rule for name, rule in RULES.items() if rule is not None}
