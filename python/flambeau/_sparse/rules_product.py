"""Rules: products of matrices."""

from __future__ import annotations

from flambeau._C import ops

from .record import (
    COO,
    CSC,
    CSR,
    coalesced,
    compressed,
    coo,
    is_coo,
    is_sparse,
    owner,
    rows_of,
    shown_layout,
)
from .rules_arith import add
from .rules_convert import spread, to_sparse
from .rules_shape import transpose
from .table import rule


def _check(name, a, b):
    if a.dim() != 2 or b.dim() != 2:
        raise RuntimeError(
            f"{name}: Expected two matrices, got tensors with {a.dim()} and {b.dim()} dimensions"
        )
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"{name}: mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and "
            f"{b.shape[0]}x{b.shape[1]})"
        )
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"{name}: expected m1 and m2 to have the same dtype, but got: {a.dtype} != {b.dtype}"
        )
    for t in (a, b):
        record = owner(t)
        if record is not None and record.layout == COO and record.indices.shape[0] != 2:
            raise RuntimeError(
                f"{name}: Expected a sparse matrix with two sparse dimensions, got "
                f"{record.indices.shape[0]} sparse and {record.values.dim() - 1} dense ones"
            )


def _sparse_times_dense(a, b):
    starts, columns, values = rows_of(a)
    return ops._csr_mm(starts, columns, values, b.detach())


def _sparse_times_sparse(a, b):
    parts: tuple = (*rows_of(a), *rows_of(b), b.shape[1])
    starts, columns, values = ops._csr_matmul(*parts)
    size = (a.shape[0], b.shape[1])
    if owner(a).layout == COO:
        rows = ops._convert_indices_from_csr_to_coo(starts, columns)
        return coo(rows, values, size, True)
    out = compressed(CSR, starts, columns, values, size)
    return to_sparse(out, "sparse_csc") if owner(a).layout == CSC else out


def product(a, b, name="mm"):
    _check(name, a, b)
    if not is_sparse(a):
        return _sparse_times_dense(transpose(b, 0, 1), a.detach().t()).t().contiguous()
    if is_sparse(b):
        return _sparse_times_sparse(a, b)
    return _sparse_times_dense(a, b)


@rule("mm")
def mm(a, b):
    return product(a, b)


@rule("linear")
def linear(x, weight, bias=None):
    if x.dim() != 2:
        raise NotImplementedError(
            f"Could not run 'aten::linear' with arguments from the '{shown_layout(x)}CPU' backend: "
            f"it has a rule for matrices, not for input with {x.dim()} dimensions"
        )
    out = product(
        x, transpose(weight, 0, 1) if is_sparse(weight) else weight.detach().t(), "linear"
    )
    return out if bias is None else out + bias.detach()


@rule("_sparse_sparse_matmul")
def sparse_matmul(a, b):
    return product(a, b, "sparse.mm")


@rule("mv")
def mv(a, v):
    return product(a, v.detach().unsqueeze(1), "mv").squeeze(1)


@rule("_sparse_addmm")
def sparse_addmm(t, a, b, beta=1, alpha=1):
    if not is_sparse(a):
        raise RuntimeError(
            f"sparse.addmm: Expected mat1 to have a sparse layout, but got {shown_layout(a)}"
        )
    out = product(a, b, "sparse.addmm")
    if alpha != 1:
        out = out * alpha
    if beta == 0:
        return out
    if is_sparse(out):
        out = spread(out)
    t = t.detach()
    try:
        wide = t.expand(tuple(out.shape))
    except RuntimeError:
        raise RuntimeError(
            f"sparse.addmm: Expected input of shape {tuple(out.shape)}, but got {tuple(t.shape)}"
        ) from None
    return add(wide, out) if is_sparse(t) else out + wide * beta if beta != 1 else out + wide


@rule("bmm")
def bmm(a, b):
    if not is_coo(a) or is_sparse(b):
        raise NotImplementedError(
            "Could not run 'aten::bmm' with arguments from the "
            f"'{shown_layout(a if is_sparse(a) else b)}CPU' backend: it has a rule for a "
            "sparse_coo and a dense tensor"
        )
    if a.dim() != 3 or b.dim() != 3 or a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise RuntimeError(
            f"bmm: Expected size for first two dimensions of batch2 tensor to be: "
            f"[{a.shape[0]}, {a.shape[-1]}] but got: {list(b.shape[:2])}."
        )
    record = owner(a)
    if record.indices.shape[0] != 3:
        raise RuntimeError("bmm: Expected a sparse tensor with three sparse dimensions")
    # one matrix with the batch along its diagonal
    batch, row, column = record.indices
    n, height, width = a.shape
    whole = coo(
        ops.stack([batch * height + row, batch * width + column]),
        record.values,
        (n * height, n * width),
        record.coalesced,
    )
    out = _sparse_times_dense(whole, b.detach().reshape((n * width, b.shape[2])))
    return out.reshape((n, height, b.shape[2]))


# ---- products whose result is sparse -------------------------------------------------------------


@rule("hspmm")
def hspmm(a, b):
    _need_coo("hspmm", a)
    _check("hspmm", a, b)
    if is_sparse(b):
        raise RuntimeError("hspmm: Expected mat2 to be dense, but got Sparse")
    out = _sparse_times_dense(a, b)
    rows = owner(coalesced(a)).indices[0].unique()
    size = (a.shape[0], b.shape[1])
    return coo(rows.unsqueeze(0), out.index_select(0, rows), size)


@rule("sspaddmm")
def sspaddmm(t, a, b, beta=1, alpha=1):
    _need_coo("sspaddmm", a)
    _need_coo("sspaddmm", t)
    _check("sspaddmm", a, b)
    if is_sparse(b):
        raise RuntimeError("sspaddmm: Argument #3: Expected dense tensor, but got Sparse")
    size = (a.shape[0], b.shape[1])
    if tuple(t.shape) != size:
        raise RuntimeError(
            f"sspaddmm: Argument #1: Expected input of shape {size}, but got {tuple(t.shape)}"
        )
    mine = owner(coalesced(t))
    out = _rows(a, b)
    return coo(
        ops.cat([mine.indices, owner(out).indices], 1),
        ops.cat([mine.values * beta, owner(out).values * alpha]),
        size,
    )


def _rows(a, b):
    """Every element of the rows of the product that are not empty."""
    product_rows = hspmm(a, b)
    rows, values = owner(product_rows).indices[0], owner(product_rows).values
    n, m = values.shape
    columns = ops.arange(m).expand((n, m))
    indices = ops.stack([rows.unsqueeze(1).expand((n, m)).reshape(-1), columns.reshape(-1)])
    return coo(indices, values.reshape(-1), product_rows.shape)


@rule("smm")
def smm(a, b):
    _need_coo("smm", a)
    _check("smm", a, b)
    return _rows(a, b)


def _need_coo(name, t):
    if not is_coo(t):
        raise RuntimeError(
            f"{name}: Expected sparse tensor of layout sparse_coo, but got {shown_layout(t)}"
        )
