"""Rules: transposing, selecting, joining. Results are new tensors, never views."""

from __future__ import annotations

from flambeau import _C
from flambeau._C import ops

from .record import (
    BSC,
    BSR,
    COO,
    CSC,
    CSR,
    compressed,
    coo,
    is_coo,
    owner,
    shown_layout,
    tensor_of,
)
from .rules_arith import _wrapped
from .rules_convert import spread, to_coo
from .table import rule

TURNED = {CSR: CSC, CSC: CSR, BSR: BSC, BSC: BSR}


def refuse(name, t, why=""):
    raise NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the '{shown_layout(t)}CPU' backend"
        + (f": {why}" if why else "")
    )


# ---- order of dimensions -------------------------------------------------------------------------


def permuted(t, dims):
    record = owner(t)
    if record.layout != COO:
        if tuple(dims) == tuple(range(t.dim())):
            return t
        if tuple(dims) == (1, 0):
            return transpose(t, 0, 1)
        refuse("permute", t, "compressed tensors are transposed as matrices only")
    n = record.indices.shape[0]
    if any(d >= n for d in dims[:n]):
        raise RuntimeError(
            "permute(sparse_coo): sparse and dense dimensions cannot change places; got dims "
            f"{tuple(dims)} of a tensor with {n} sparse dimensions"
        )
    indices = ops.stack([record.indices[d] for d in dims[:n]]) if n else record.indices
    values = record.values.permute((0, *(d - n + 1 for d in dims[n:])))
    same = list(dims[:n]) == list(range(n))
    size = [t.shape[d] for d in dims]
    few = record.indices.shape[1] < 2
    return coo(indices, values, size, record.coalesced and (same or few))


@rule("permute")
def permute(t, dims):
    if len(dims) != t.dim():
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {t.dim()} is not "
            f"equal to len(dims) = {len(dims)}"
        )
    wrapped = [_wrapped(d, t.dim()) for d in dims]
    if len(set(wrapped)) != len(wrapped):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return permuted(t, wrapped)


@rule("transpose")
def transpose(t, a, b):
    a, b = _wrapped(a, t.dim()), _wrapped(b, t.dim())
    record = owner(t)
    if record.layout == COO:
        order = list(range(t.dim()))
        if order:
            order[a], order[b] = order[b], order[a]
        return permuted(t, order)
    if a == b:
        return tensor_of(record.with_parts(*record.parts()), t.shape)
    if {a, b} != {0, 1} or t.dim() != 2:
        refuse("transpose", t, "compressed tensors are transposed as matrices only")
    values = record.values.transpose(1, 2) if record.blocked else record.values
    turned = (t.shape[1], t.shape[0])
    return compressed(TURNED[record.layout], record.compressed, record.plain, values, turned)


@rule("t", "numpy_T", "mT")
def turned(t):
    if t.dim() > 2 and is_coo(t):
        raise RuntimeError(
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {t.dim()}D"
        )
    return tensor_of(owner(t), t.shape) if t.dim() < 2 else transpose(t, 0, 1)


@rule("unsqueeze")
def unsqueeze(t, dim):
    if not is_coo(t):
        raise RuntimeError(f"unsqueeze: {shown_layout(t)} tensors do not have strides")
    record = owner(t)
    dim = _wrapped(dim, t.dim() + 1)
    size = [*t.shape[:dim], 1, *t.shape[dim:]]
    indices, values = record.parts()
    n = indices.shape[0]
    if dim <= n:
        zero = indices.new_zeros((1, indices.shape[1]))
        indices = ops.cat([indices[:dim], zero, indices[dim:]])
    else:
        values = values.unsqueeze(dim - n + 1)
    return coo(indices, values, size)


def without(t, dims):
    """Drops dimensions of size 1."""
    record = owner(t)
    indices, values = record.parts()
    n = indices.shape[0]
    kept = [d for d in range(n) if d not in dims]
    if len(kept) < n:
        at = [indices[d] for d in kept]
        indices = ops.stack(at) if at else indices.new_zeros((0, indices.shape[1]))
    for d in sorted((d for d in dims if d >= n), reverse=True):
        values = values.squeeze(d - n + 1)
    size = [s for d, s in enumerate(t.shape) if d not in dims]
    return coo(indices, values, size, record.coalesced)


@rule("squeeze")
def squeeze(t):
    if not is_coo(t):
        refuse("squeeze", t)
    return without(t, [d for d, s in enumerate(t.shape) if s == 1])


@rule("squeeze_dim", "squeeze_dims")
def squeeze_dim(t, dim):
    if not is_coo(t):
        refuse("squeeze", t)
    dims = [_wrapped(d, t.dim()) for d in (dim if isinstance(dim, tuple) else (dim,))]
    return without(t, [d for d in dims if t.shape[d] == 1])


@rule("view")
def view(t, size):
    """Sizes of 1 come and go; any other change of the shape is refused."""
    if not is_coo(t) or [s for s in t.shape if s != 1] != [s for s in size if s != 1]:
        refuse("view", t, "reshape is not implemented for sparse tensors")
    out = squeeze(t)
    for d, s in enumerate(size):
        if s == 1:
            out = unsqueeze(out, d)
    return out


# ---- selecting -----------------------------------------------------------------------------------


@rule("select")
def select(t, dim, index):
    dim = _wrapped(dim, t.dim())
    size = t.shape[dim]
    if not -size <= index < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(t.shape)} at dimension "
            f"{dim}"
        )
    index %= size
    if not is_coo(t):
        return select(to_coo(t), dim, index)
    record = owner(t)
    n = record.indices.shape[0]
    rest = [s for d, s in enumerate(t.shape) if d != dim]
    if dim >= n:
        values = record.values.select(dim - n + 1, index)
        return coo(record.indices, values, rest, record.coalesced)
    here = ops.nonzero(record.indices[dim] == index).squeeze(1)
    values = record.values.index_select(0, here)
    if n == 1:
        out = values.sum(0)
        return out if values.dim() > 0 else out
    at = [record.indices[d].index_select(0, here) for d in range(n) if d != dim]
    return coo(ops.stack(at), values, rest)


@rule("slice")
def slice_(t, dim=0, start=None, end=None, step=1):
    dim = _wrapped(dim, t.dim())
    size = t.shape[dim]
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    chosen = range(size)[slice(start, end, step)]
    if len(chosen) == size:
        return tensor_of(owner(t), t.shape)
    return refuse("as_strided", t, "narrow_copy() and index_select() take parts of a sparse tensor")


@rule("_sparse_narrow")
def narrow_copy(t, dim, start, length):
    if not is_coo(t):
        refuse("narrow_copy", t)
    dim = _wrapped(dim, t.dim())
    if start < 0:
        start += t.shape[dim]
    if not 0 <= start <= start + length <= t.shape[dim]:
        raise RuntimeError(
            f"narrow_copy(): Invalid range from {start} to {start + length} along dimension {dim} "
            f"of a tensor of size {list(t.shape)}"
        )
    record = owner(t)
    n = record.indices.shape[0]
    size = list(t.shape)
    size[dim] = length
    if dim >= n:
        values = record.values.narrow(dim - n + 1, start, length)
        return coo(record.indices, values, size, record.coalesced)
    row = record.indices[dim]
    here = ops.nonzero((row >= start) & (row < start + length)).squeeze(1)
    indices = record.indices.index_select(1, here)
    indices[dim] -= start
    return coo(indices, record.values.index_select(0, here), size, record.coalesced)


@rule("index_select")
def index_select(t, dim, index):
    if not is_coo(t):
        refuse("index_select", t)
    dim = _wrapped(dim, t.dim())
    if index.dim() > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    index = index.reshape(-1).to(_C.int64)
    size = t.shape[dim]
    if index.numel():
        low, high = int(index.min()), int(index.max())
        if low < -size or high >= size:
            bad = low if low < -size else high
            raise IndexError(
                f"index_select(): index contains {bad} that is out of range for tensor of size "
                f"{list(t.shape)} at dimension {dim}"
            )
        index = index.where(index >= 0, index + size)
    record = owner(t)
    n = record.indices.shape[0]
    sizes = list(t.shape)
    sizes[dim] = index.shape[0]
    if dim >= n:
        return coo(
            record.indices, record.values.index_select(dim - n + 1, index), sizes, record.coalesced
        )
    # for each index in turn, the elements that have it
    order_of, order = record.indices[dim].sort(stable=True)
    first = ops.searchsorted(order_of, index)
    counts = ops.searchsorted(order_of, index, right=True) - first
    ends = counts.cumsum(0)
    total = int(ends[-1]) if index.numel() else 0
    new = ops.repeat_interleave(ops.arange(index.shape[0]), counts)
    within = ops.arange(total) - (ends - counts).index_select(0, new)
    source = order.index_select(0, first.index_select(0, new) + within)
    indices = record.indices.index_select(1, source)
    indices[dim] = new
    return coo(indices, record.values.index_select(0, source), sizes)


@rule("unbind")
def unbind(t, dim=0):
    return tuple([select(t, dim, i) for i in range(t.shape[dim])])


# ---- joining -------------------------------------------------------------------------------------


@rule("cat")
def cat(tensors, dim=0):
    if not all(is_coo(t) for t in tensors):
        other = next(t for t in tensors if not is_coo(t))
        if owner(other) is not None:
            refuse("cat", other)
        raise RuntimeError(
            "Concatenating sparse tensors, but a dense tensor was found at position "
            f"{next(i for i, t in enumerate(tensors) if owner(t) is None)}."
        )
    first = tensors[0]
    dim = _wrapped(dim, first.dim())
    n = owner(first).indices.shape[0]
    dtype = first.dtype
    for i, t in enumerate(tensors):
        dtype = _C.promote_types(dtype, t.dtype)
        if t.dim() != first.dim() or owner(t).indices.shape[0] != n:
            raise RuntimeError(
                f"All tensors must have the same number of sparse and dense dimensions, but tensor "
                f"at position {i} has {t.dim()} dimensions, {owner(t).indices.shape[0]} sparse"
            )
        if any(a != b for d, (a, b) in enumerate(zip(t.shape, first.shape)) if d != dim):
            raise RuntimeError(
                "Sizes of tensors must match except in dimension "
                f"{dim}. Expected {list(first.shape)} but got {list(t.shape)} at position {i}"
            )
    size = list(first.shape)
    size[dim] = sum(t.shape[dim] for t in tensors)
    if dim >= n:
        return _cat_dense(tensors, dim - n, size, dtype)
    indices, values, offset = [], [], 0
    for t in tensors:
        record = owner(t)
        at = record.indices
        if offset:
            at = at.clone()
            at[dim] += offset
        indices.append(at)
        values.append(record.values.to(dtype))
        offset += t.shape[dim]
    return coo(ops.cat(indices, 1), ops.cat(values), size)


def _cat_dense(tensors, dim, size, dtype):
    """Along a dense dimension: the values of each tensor among zeros."""
    indices, values, offset = [], [], 0
    whole = size[owner(tensors[0]).indices.shape[0] :]
    for t in tensors:
        record = owner(t)
        width = record.values.shape[dim + 1]
        wide = ops.zeros((record.values.shape[0], *whole), dtype=dtype)
        wide.narrow(dim + 1, offset, width).copy_(record.values)
        indices.append(record.indices)
        values.append(wide)
        offset += width
    return coo(ops.cat(indices, 1), ops.cat(values), size)


@rule("stack")
def stack(tensors, dim=0):
    dim = _wrapped(dim, tensors[0].dim() + 1)
    return cat([unsqueeze(t, dim) for t in tensors], dim)


@rule("equal")
def equal(a, b):
    if owner(a) is None or owner(b) is None or tuple(a.shape) != tuple(b.shape):
        refuse("equal", a if owner(a) is not None else b, "both tensors must be sparse")
    return bool((spread(a) == spread(b)).all())
