"""Factories that were asked for a sparse layout: `zeros(2, 3, layout=torch.sparse_coo)`."""

from __future__ import annotations

from flambeau import _C
from flambeau._C import Tensor, ops

from .record import BSC, BSR, COO, NAMES, owner
from .rules import dense_dim, empty_compressed, empty_coo, sparse_dim

_DTYPE = {"zeros": None, "empty": None}


def _layout(layout):
    return NAMES.index(str(layout).removeprefix("torch."))


def _empty(size, layout, dtype, device):
    dtype = dtype or _C.get_default_dtype()
    number = _layout(layout)
    if number == COO:
        return empty_coo(size, len(size), 0, dtype, device)
    if number in (BSR, BSC):
        raise RuntimeError(
            "empty: Only batched sparse compressed (non-block) tensors are supported, but got "
            f"layout {layout}"
        )
    if len(size) < 2:
        raise RuntimeError(
            f"empty: a tensor of layout {layout} needs 2 or more dimensions, got {tuple(size)}"
        )
    return empty_compressed(number, size, dtype, None, device)


def _like(name, t, options):
    layout = options.pop("layout")
    options.pop("memory_format", None)
    options.pop("pin_memory", None)
    dtype, device = options.get("dtype") or t.dtype, options.get("device")
    if layout is _C.strided:  # of a sparse tensor, a dense one
        return getattr(ops, name.removesuffix("_like"))(
            tuple(t.shape), dtype=dtype, device=device or t.device
        )
    if name not in ("zeros_like", "empty_like"):
        raise RuntimeError("full(...) is not implemented for sparse layout")
    record = owner(t)
    if record is not None and record.layout == _layout(layout):
        if record.layout == COO:
            return empty_coo(t.shape, sparse_dim(t), dense_dim(t), dtype, device)
        return getattr(ops, name)(t, dtype=dtype)
    return _empty(tuple(t.shape), layout, dtype, device or t.device)


def call(name, args, kwargs):
    """The factory ``name`` on its arguments, of which the layout is sparse (or a tensor is)."""
    options = dict(kwargs)
    requires_grad = options.pop("requires_grad", False)
    t = options.pop("input", options.pop("self", None))
    if args and isinstance(args[0], Tensor):
        t, args = args[0], args[1:]
    if name.endswith("_like"):
        out = _like(name, t, options)
    elif name in ("zeros", "empty", "new_zeros", "new_empty"):
        size = options.pop("size", None)
        if size is None:
            size = args[0] if len(args) == 1 and not isinstance(args[0], int) else args
        size = (size,) if isinstance(size, int) else tuple(size)
        dtype, device = options.get("dtype"), options.get("device")
        if t is not None:
            dtype, device = dtype or t.dtype, device or t.device
        layout = options["layout"]
        if layout is _C.strided:
            out = getattr(ops, name.removeprefix("new_"))(size, dtype=dtype, device=device)
        else:
            out = _empty(size, layout, dtype, device)
    elif name in ("ones", "full", "new_ones", "new_full", "scalar_tensor"):
        raise RuntimeError("full(...) is not implemented for sparse layout")
    else:
        kind = "SparseCPU" if _layout(options["layout"]) == COO else "SparseCsrCPU"
        raise NotImplementedError(
            f"Could not run 'aten::{name}' with arguments from the '{kind}' backend: only zeros "
            "and empty make sparse tensors"
        )
    return out.requires_grad_() if requires_grad else out
