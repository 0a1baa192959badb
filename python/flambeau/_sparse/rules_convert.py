"""Rules: between layouts, and elements at the places of another tensor."""

from __future__ import annotations

from flambeau import _C
from flambeau._C import ops

from .record import (
    BSC,
    BSR,
    COO,
    CSR,
    NAMES,
    coalesced,
    compressed,
    coo,
    coordinates,
    count,
    elements,
    keys,
    owner,
    shown_layout,
    with_values,
)
from .rules import dense_dim, sparse_dim
from .table import rule

bool_dtype = _C.bool


def spread(t):
    """The dense tensor of a sparse one."""
    record = owner(t)
    if record.layout in (BSR, BSC):
        t = elements(t)
    elif t.dtype == bool_dtype:  # equal indices: or
        t = coalesced(to_coo(t))
    record = owner(t)
    at, values = coordinates(t), record.values
    sizes, rest = t.shape[: at.shape[0]], tuple(values.shape[1:])
    out = values.new_zeros((count(sizes), *rest))
    flat = keys(at, sizes)
    if record.layout == COO and not record.coalesced:
        out.index_add_(0, flat, values)
    else:
        out.index_copy_(0, flat, values)
    return out.reshape(tuple(t.shape))


@rule("_to_dense")
def to_dense(t, dtype=None, masked_grad=None):
    if owner(t) is None:
        return t if dtype is None else t.to(dtype)
    out = spread(t)
    return out if dtype is None else out.to(dtype)


def specified(t, sparse):
    """The COO tensor of the elements of a dense tensor that are not zero."""
    if t.dim() > 0 and sparse <= 0:
        raise RuntimeError("dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0")
    if not 0 <= sparse <= t.dim():
        raise RuntimeError(
            f"dense_to_sparse: sparse_dim argument must be in [0,{t.dim()}] range, but {sparse} is "
            "given"
        )
    other = t != 0
    if 0 < sparse < t.dim():
        other = other.flatten(sparse).any(-1)
    if sparse == 0:
        n = int(other.any()) if other.numel() else 0
        at = ops.zeros((0, n), dtype=ops.arange(0).dtype)
        return coo(at, t.reshape((1, *t.shape))[:n].clone(), t.shape, True)
    at = ops.nonzero(other).t().contiguous()
    sizes = t.shape[:sparse]
    flat = t.reshape((count(sizes), *t.shape[sparse:]))
    return coo(at, flat.index_select(0, keys(at, sizes)), t.shape, True)


@rule("to_sparse_sparse_dim")
def to_sparse_dim(t, sparse):
    record = owner(t)
    if record is None:
        return specified(t.detach(), sparse)
    if sparse != sparse_dim(t):
        raise RuntimeError(
            f"to_sparse: sparse_dim argument {sparse} does not match sparse dimensions of the "
            f"tensor, {sparse_dim(t)}"
        )
    return to_coo(t)


def to_coo(t):
    """A sparse tensor of any layout as COO tensor."""
    record = owner(t)
    if record.layout == COO:
        return t
    if record.blocked:
        return elements(t)
    return coo(coordinates(t), record.values, t.shape, record.layout == CSR)


def compress(t, layout, blocksize=None):
    """A coalesced COO matrix as CSR, CSC, BSR or BSC."""
    at, values = owner(t).parts()
    rows, columns = t.shape[0], t.shape[1]
    if layout in (BSR, BSC):
        height, width = blocksize
        at, values = _blocks(at, values, columns // width, height, width)
        rows, columns = rows // height, columns // width
    if layout in (CSR, BSR):
        starts = ops._convert_indices_from_coo_to_csr(at[0], rows)
        return compressed(layout, starts, at[1].contiguous(), values, t.shape)
    starts, order = ops._csr_order(at[1], columns)
    plain = at[0].index_select(0, order)
    return compressed(layout, starts, plain, values.index_select(0, order), t.shape)


def _blocks(at, values, across, height, width):
    """Indices and values of the blocks that hold these elements."""
    block = at[0].div(height, rounding_mode="floor") * across + at[1].div(
        width, rounding_mode="floor"
    )
    present, which = block.unique(return_inverse=True)
    n = present.shape[0]
    out = values.new_zeros((n * height * width, *values.shape[1:]))
    out.index_copy_(0, (which * height + at[0] % height) * width + at[1] % width, values)
    across = max(across, 1)
    indices = ops.stack([present.div(across, rounding_mode="floor"), present % across])
    return indices, out.reshape((n, height, width, *values.shape[1:]))


@rule("_to_sparse")
def to_sparse(t, layout, blocksize=None, dense=None):
    layout = NAMES.index(layout)
    record = owner(t)
    if record is not None and dense is not None and dense != dense_dim(t):
        raise RuntimeError(
            f"to_sparse: conversion from {shown_layout(t)} to {NAMES[layout]} with dense_dim "
            f"argument {dense}: the tensor has {dense_dim(t)} dense dimensions"
        )
    if layout in (BSR, BSC):
        _check_blocks(t, blocksize)
    elif blocksize is not None:
        raise RuntimeError(
            f"to_sparse: blocksize is used with the layouts sparse_bsr and sparse_bsc only, got "
            f"{NAMES[layout]}"
        )
    if record is None:
        rest = dense or 0
        if layout != COO and t.dim() - rest != 2:
            if t.dim() - rest > 2:
                raise NotImplementedError(
                    f"to_sparse: batches of {NAMES[layout]} matrices are not implemented; got a "
                    f"tensor with {t.dim()} dimensions"
                )
            raise RuntimeError(
                f"to_sparse: conversion from Strided to {NAMES[layout]} needs a matrix, got a "
                f"tensor with {t.dim()} dimensions of which {rest} are dense"
            )
        t = specified(t.detach(), t.dim() - rest)
    elif record.layout == layout and not blocksize:
        return t
    else:  # zeros inside of blocks are specified elements
        t = to_coo(t)
    if layout == COO:
        return t
    t = coalesced(t)
    if sparse_dim(t) != 2:
        raise RuntimeError(
            f"to_sparse: conversion to {NAMES[layout]} needs two sparse dimensions, got "
            f"{sparse_dim(t)}"
        )
    return compress(t, layout, blocksize)


def _check_blocks(t, blocksize):
    if blocksize is None:
        raise RuntimeError(
            "to_sparse: blocksize is required for the layouts sparse_bsr, sparse_bsc"
        )
    if len(blocksize) != 2 or blocksize[0] <= 0 or blocksize[1] <= 0:
        raise RuntimeError(
            f"to_sparse: blocksize needs to be a tuple of two positive integers, got {blocksize}"
        )
    if t.dim() < 2 or t.shape[0] % blocksize[0] or t.shape[1] % blocksize[1]:
        raise RuntimeError(
            f"tensor sparse size ({','.join(map(str, t.shape[:2]))}) must be divisible by given "
            f"blocksize ({','.join(map(str, blocksize))})"
        )


# ---- elements at given places --------------------------------------------------------------------


def found(t, at):
    """The elements of a COO tensor at columns of indices; zero where it specifies none."""
    t = coalesced(t)
    indices, values = owner(t).parts()
    sizes = t.shape[: indices.shape[0]]
    have, want = keys(indices, sizes), keys(at, sizes)
    if have.shape[0] == 0:
        return values.new_zeros((want.shape[0], *values.shape[1:]))
    place = ops.searchsorted(have, want).clamp_(max=have.shape[0] - 1)
    hit = have.index_select(0, place) == want
    out = values.index_select(0, place)
    return out.masked_fill_(~hit.reshape((-1,) + (1,) * (out.dim() - 1)), 0)


@rule("_sparse_take")
def take(t, pattern):
    record = owner(pattern)
    if tuple(t.shape) != tuple(pattern.shape):
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(t.shape)} but "
            f"mask has size {list(pattern.shape)}"
        )
    if record.layout in (BSR, BSC):
        single = elements(pattern)
        return take(t, single).reshape(tuple(record.values.shape))
    at = coordinates(pattern)
    mine = owner(t)
    if mine is None:
        sizes = pattern.shape[: at.shape[0]]
        flat = t.detach().reshape((count(sizes), *pattern.shape[at.shape[0] :]))
        return flat.index_select(0, keys(at, sizes))
    if mine is record:
        return record.values.detach()
    t = to_coo(t)
    if sparse_dim(t) != at.shape[0]:
        return take(spread(t), pattern)
    return found(t, at)


@rule("sparse_mask")
def sparse_mask(t, mask):
    if owner(mask) is None:
        raise RuntimeError("sparse_mask(): expected mask to have a sparse layout, but got Strided")
    return with_values(mask, take(t, mask))
