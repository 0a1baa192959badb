"""What a sparse tensor consists of, and how to take one apart."""

from __future__ import annotations

from flambeau import _C
from flambeau._C import Tensor, ops

COO, CSR, CSC, BSR, BSC = range(5)
NAMES = ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
SHOWN = ("Sparse", "SparseCsr", "SparseCsc", "SparseBsr", "SparseBsc")

owner = _C._sparse_owner


class Coo:
    """Coordinates: `indices` (sparse_dim, nnz), `values` (nnz, *dense sizes)."""

    __slots__ = ("coalesced", "indices", "values")
    layout = COO

    def __init__(self, indices, values, coalesced):
        self.indices, self.values, self.coalesced = indices, values, coalesced

    def parts(self):
        return self.indices, self.values

    def with_parts(self, indices, values):
        return Coo(indices, values, self.coalesced)


class Compressed:
    """Compressed rows (CSR, BSR) or columns (CSC, BSC): where each begins in `plain`, the indices
    of the other dimension. Values are numbers, or blocks of them."""

    __slots__ = ("compressed", "layout", "plain", "values")

    def __init__(self, layout, compressed, plain, values):
        self.layout, self.compressed, self.plain, self.values = layout, compressed, plain, values

    def parts(self):
        return self.compressed, self.plain, self.values

    def with_parts(self, compressed, plain, values):
        return Compressed(self.layout, compressed, plain, values)

    @property
    def blocked(self):
        return self.layout in (BSR, BSC)

    @property
    def by_rows(self):
        return self.layout in (CSR, BSR)


def tensor_of(record, size):
    """The sparse tensor of a record."""
    return _C._sparse(record, record.layout, record.values, tuple(size))


def coo(indices, values, size, coalesced=False):
    return tensor_of(Coo(indices, values, coalesced or indices.shape[1] < 2), size)


def compressed(layout, starts, plain, values, size):
    return tensor_of(Compressed(layout, starts, plain, values), size)


def is_coo(t):
    record = owner(t) if isinstance(t, Tensor) else None
    return record is not None and record.layout == COO


def is_sparse(t):
    return isinstance(t, Tensor) and owner(t) is not None


def shown_layout(t):
    """The layout as PyTorch's messages name it."""
    record = owner(t)
    return "Strided" if record is None else SHOWN[record.layout]


def with_values(t, values):
    """A tensor of the same places with other values."""
    record = owner(t)
    parts = record.parts()[:-1]
    return tensor_of(record.with_parts(*parts, values), t.shape)


def change(t, record, size=None):
    """Gives ``t`` itself another record."""
    _C._sparse_change(t, record, record.values, tuple(t.shape if size is None else size))
    return t


def count(sizes):
    n = 1
    for s in sizes:
        n *= s
    return n


def keys(indices, sizes):
    """One number for each column of ``indices``, in their order."""
    if indices.shape[0] == 0:
        return indices.new_zeros((indices.shape[1],))
    if count(sizes) >= 2**63:
        raise RuntimeError(
            f"sparse tensor of size {tuple(sizes)}: the product of its sparse dimensions does not "
            "fit into 64 bits"
        )
    out = indices[0]
    for d in range(1, indices.shape[0]):
        out = out * sizes[d] + indices[d]
    return out


def coordinates_of(flat, sizes):
    """The inverse of `keys`."""
    rows = []
    for s in reversed(sizes):
        s = max(s, 1)
        rows.append(flat % s)
        flat = flat.div(s, rounding_mode="floor")
    if not rows:
        return flat.new_zeros((0, flat.shape[0]))
    return ops.stack(rows[::-1])


def coalesced(t):
    """The coalesced form of a COO tensor: itself where it is so."""
    record = owner(t)
    if record.coalesced:
        return t
    indices, values = record.indices, record.values
    n = indices.shape[1]
    sizes = t.shape[: indices.shape[0]]
    if n < 2:
        return coo(indices, values, t.shape, True)
    sorted_keys, order = keys(indices, sizes).sort(stable=True)
    first = ops.nonzero(sorted_keys[1:] != sorted_keys[:-1]).squeeze(1) + 1
    starts = ops.cat([first.new_zeros((1,)), first])
    bounds = ops.cat([starts, first.new_full((1,), n)])
    kept = indices.index_select(1, order.index_select(0, starts))
    return coo(kept, ops._sum_runs(values, order, bounds), t.shape, True)


def coordinates(t):
    """Indices (sparse_dim, nnz) of a sparse tensor of any layout, in the order of its values."""
    record = owner(t)
    if record.layout == COO:
        return record.indices
    return ops._convert_indices_from_csr_to_coo(
        record.compressed.long(), record.plain.long(), transpose=not record.by_rows
    )


def rows_of(t):
    """``(starts, columns, values)`` of a sparse matrix by rows; equal columns may repeat."""
    record = owner(t)
    if record.layout == CSR:
        return record.parts()
    if record.layout in (BSR, BSC):
        t = elements(t)
        record = owner(t)
    at, values = coordinates(t), record.values
    if record.layout == COO and record.coalesced:
        return ops._convert_indices_from_coo_to_csr(at[0], t.shape[0]), at[1], values
    starts, order = ops._csr_order(at[0], t.shape[0])
    return starts, at[1].index_select(0, order), values.index_select(0, order)


def elements(t):
    """A tensor of blocks as COO tensor of single elements, not sorted."""
    record = owner(t)
    at = coordinates(t)
    height, width = record.values.shape[1:3]
    n = at.shape[1]
    row = at[0].reshape(n, 1, 1) * height + ops.arange(height).reshape(1, height, 1)
    column = at[1].reshape(n, 1, 1) * width + ops.arange(width).reshape(1, 1, width)
    indices = ops.stack(
        [row.expand(n, height, width).reshape(-1), column.expand(n, height, width).reshape(-1)]
    )
    values = record.values.reshape((n * height * width, *record.values.shape[3:]))
    return coo(indices, values, t.shape)
