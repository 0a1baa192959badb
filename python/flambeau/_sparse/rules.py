"""Rules: parts of sparse tensors, copies, changes in place of the structure."""

from __future__ import annotations

from flambeau._C import Tensor, ops

from .record import (
    BSC,
    BSR,
    COO,
    CSR,
    NAMES,
    Coo,
    change,
    coalesced,
    compressed,
    coo,
    coordinates,
    is_coo,
    keys,
    owner,
    shown_layout,
    tensor_of,
    with_values,
)
from .table import rule


def need_coo(t, name):
    if not is_coo(t):
        raise RuntimeError(
            f"{name} expected sparse coordinate tensor layout but got {shown_layout(t)}"
        )
    return owner(t)


# ---- making them ---------------------------------------------------------------------------------


@rule("_sparse_coo_tensor_with_dims_and_tensors")
def make_coo(sparse_dim, dense_dim, size, indices, values, is_coalesced):
    return coo(indices.detach(), values.detach(), size, bool(is_coalesced))


@rule("_sparse_compressed_tensor")
def make_compressed(starts, plain, values, size, layout):
    parts = (starts.detach(), plain.detach(), values.detach())
    return compressed(NAMES.index(layout), *parts, size)


@rule("_sparse_like")
def like(pattern, values):
    return with_values(pattern, values.detach())


@rule("_sparse_coordinates")
def coordinates_rule(t):
    return coordinates(t)


@rule("_sparse_groups")
def groups(t, dim):
    record = owner(t)
    at = record.indices
    rest = [d for d in range(at.shape[0]) if d != dim]
    if not rest:
        return at.new_zeros((at.shape[1],))
    flat = keys(ops.stack([at[d] for d in rest]), [t.shape[d] for d in rest])
    return flat.unique(return_inverse=True)[1]


# ---- parts ---------------------------------------------------------------------------------------


@rule("_indices")
def _indices(t):
    return need_coo(t, "_indices").indices.detach()


@rule("_values")
def _values(t):
    return need_coo(t, "_values").values.detach()


@rule("indices")
def indices(t):
    record = need_coo(t, "indices")
    if not record.coalesced:
        raise RuntimeError(
            "Cannot get indices on an uncoalesced tensor, please call .coalesce() first"
        )
    return record.indices.detach()


@rule("values")
def values(t):
    record = owner(t)
    if record is None:
        raise RuntimeError("values expected sparse tensor layout but got Strided")
    if record.layout == COO and not record.coalesced:
        raise RuntimeError(
            "Cannot get values on an uncoalesced tensor, please call .coalesce() first"
        )
    return record.values.detach()


def _compressed_part(name, by_rows, attribute):
    kind = "row" if by_rows else "column"

    @rule(name)
    def part(t):
        record = owner(t)
        if record is None or record.layout == COO or record.by_rows != by_rows:
            raise RuntimeError(
                f"{name} expected sparse {kind} compressed tensor layout but got {shown_layout(t)}"
            )
        return getattr(record, attribute).detach()


_compressed_part("crow_indices", True, "compressed")
_compressed_part("col_indices", True, "plain")
_compressed_part("ccol_indices", False, "compressed")
_compressed_part("row_indices", False, "plain")


@rule("sparse_dim", "_dimI")
def sparse_dim(t):
    record = owner(t)
    if record is None:
        return 0
    return record.indices.shape[0] if record.layout == COO else 2


@rule("dense_dim", "_dimV")
def dense_dim(t):
    record = owner(t)
    if record is None:
        return t.dim()
    if record.layout == COO:
        return record.values.dim() - 1
    block = 2 if record.blocked else 0
    return record.values.dim() - record.plain.dim() - block


@rule("_nnz")
def _nnz(t):
    record = owner(t)
    if record is None:
        raise NotImplementedError(
            "Could not run 'aten::_nnz' with arguments from the 'CPU' backend: a dense tensor has "
            "no specified elements"
        )
    return record.indices.shape[1] if record.layout == COO else record.plain.shape[-1]


@rule("is_coalesced")
def is_coalesced(t):
    return need_coo(t, "is_coalesced").coalesced


@rule("_coalesced_")
def set_coalesced(t, flag):
    record = need_coo(t, "_coalesced_")
    return change(t, Coo(record.indices, record.values, flag))


@rule("_coalesce")
def coalesce(t):
    need_coo(t, "coalesce")
    return coalesced(t)


# ---- copies --------------------------------------------------------------------------------------


@rule("detach", "alias", "lift_fresh", "view_as_self")
def detach(t):
    record = owner(t)
    return tensor_of(record.with_parts(*record.parts()), t.shape)


@rule("clone")
def clone(t, memory_format=None):
    record = owner(t)
    return tensor_of(record.with_parts(*(p.clone() for p in record.parts())), t.shape)


@rule("_to_dtype")
def to_dtype(t, dtype):
    record = owner(t)
    if dtype == t.dtype:
        return detach(t)
    return with_values(t, record.values.to(dtype))


@rule("item")
def item(t):
    record = owner(t)
    return (
        record.values.sum().item() if record.values.numel() else record.values.new_zeros(()).item()
    )


@rule("copy_")
def copy_(t, source, non_blocking=False):
    if owner(t) is None:
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented! Found self type = "
            f"{t.type()} and src type = {shown_layout(source)}"
        )
    if owner(source) is None or owner(source).layout != owner(t).layout:
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented! Found self of layout "
            f"{shown_layout(t)} and src of layout {shown_layout(source)}"
        )
    if t.shape != source.shape and owner(t).layout != COO:
        raise RuntimeError(
            f"copy_: expected sizes {tuple(t.shape)} of self and src to agree, got "
            f"{tuple(source.shape)}"
        )
    record = owner(clone(to_dtype(source, t.dtype)))
    return change(t, record, source.shape)


def empty_coo(size, sparse_dim, dense_dim, dtype, device=None):
    size = tuple(size)
    indices = ops.empty((sparse_dim, 0), dtype=ops.arange(0).dtype, device=device)
    sizes = size[sparse_dim:] if dense_dim else ()
    return coo(indices, ops.empty((0, *sizes), dtype=dtype, device=device), size, True)


def empty_compressed(layout, size, dtype, block=None, device=None):
    size = tuple(size)
    across = 0 if layout in (CSR, BSR) else 1
    rows, shape = size[-2:][across], ()
    if block:
        rows //= block[across]
        shape = tuple(block)
    long = ops.arange(0).dtype
    batch = size[:-2]
    return compressed(
        layout,
        ops.zeros((*batch, rows + 1), dtype=long, device=device),
        ops.empty((*batch, 0), dtype=long, device=device),
        ops.empty((*batch, 0, *shape), dtype=dtype, device=device),
        size,
    )


@rule("zeros_like")
def zeros_like(t, dtype=None, device=None, memory_format=None):
    record = owner(t)
    dtype = dtype or t.dtype
    device = device if device is not None and device.type != "transform" else t.device
    if record.layout == COO:
        return empty_coo(t.shape, sparse_dim(t), dense_dim(t), dtype, device)
    block = record.values.shape[-2:] if record.layout in (BSR, BSC) else None
    return empty_compressed(record.layout, t.shape, dtype, block, device)


@rule("empty_like")
def empty_like(t, dtype=None, device=None, memory_format=None):
    record = owner(t)
    if record.layout == COO:
        return zeros_like(t, dtype, device)
    starts, plain, values = record.parts()
    return tensor_of(
        record.with_parts(starts.clone(), plain.clone(), ops.empty_like(values, dtype=dtype)),
        t.shape,
    )


# ---- structure changed in place ------------------------------------------------------------------


@rule("sparse_resize_")
def sparse_resize_(t, size, sparse, dense):
    record = need_coo(t, "sparse_resize_")
    size, old = tuple(size), tuple(t.shape)
    if sparse + dense != len(size):
        raise RuntimeError(
            f"number of dimensions must be sparse_dim ({sparse}) + dense_dim ({dense}), but got "
            f"{len(size)}"
        )
    indices, values = record.parts()
    n = indices.shape[1]
    if n > 0:
        hint = (
            "on a non-empty sparse tensor (with indices and values); if you need an empty sparse "
            "tensor of this size, call `x = torch.sparse_coo_tensor(size)`."
        )
        if sparse != indices.shape[0]:
            raise RuntimeError(
                f"changing the number of sparse dimensions (from {indices.shape[0]} to {sparse}) "
                + hint
            )
        if dense != values.dim() - 1:
            raise RuntimeError(
                f"changing the number of dense dimensions (from {values.dim() - 1} to {dense}) "
                + hint
            )
        for kind, a, b in (
            ("sparse", old[:sparse], size[:sparse]),
            ("dense", old[sparse:], size[sparse:]),
        ):
            if any(y < x for x, y in zip(a, b)):
                raise RuntimeError(
                    f"shrinking the size of {kind} dimensions (from {a} to {b}) {hint}"
                )
    if n == 0:
        return change(t, owner(empty_coo(size, sparse, dense, t.dtype)), size)
    if tuple(values.shape[1:]) != size[sparse:]:
        wide = values.new_zeros((n, *size[sparse:]))
        wide[tuple(slice(0, s) for s in values.shape)] = values
        values = wide
    return change(t, Coo(indices, values, record.coalesced), size)


@rule("sparse_resize_and_clear_")
def sparse_resize_and_clear_(t, size, sparse, dense):
    need_coo(t, "sparse_resize_and_clear_")
    if sparse + dense != len(size):
        raise RuntimeError(
            f"number of dimensions must be sparse_dim ({sparse}) + dense_dim ({dense}), but got "
            f"{len(size)}"
        )
    return change(t, owner(empty_coo(size, sparse, dense, t.dtype)), size)


@rule("resize_as_sparse_")
def resize_as_sparse_(t, template):
    need_coo(template, "resize_as_sparse_")
    return sparse_resize_(t, template.shape, sparse_dim(template), dense_dim(template))


@rule("fill_")
def fill_(t, value):
    if isinstance(value, Tensor) or value != 0:
        raise NotImplementedError(
            f"Could not run 'aten::fill_' with arguments from the '{shown_layout(t)}CPU' backend: "
            "only zero_() is possible"
        )
    return zero_(t)


def zero_(t):
    if is_coo(t):
        return change(t, owner(empty_coo(t.shape, sparse_dim(t), dense_dim(t), t.dtype)))
    owner(t).values.zero_()
    return t
