"""Sparse tensors in pickles and files, and copies of them."""

from __future__ import annotations

from flambeau import _C

from .record import COO, owner


def parts(t):
    """``(layout, data)`` as PyTorch's files have them."""
    record = owner(t)
    if record.layout == COO:
        return t.layout, (record.indices, record.values, t.shape, record.coalesced)
    return t.layout, (record.compressed, record.plain, record.values, t.shape)


def rebuild(layout, data):
    """The tensor of `parts`; what does not make one is a RuntimeError."""
    from .construct import sparse_compressed_tensor, sparse_coo_tensor

    if layout is _C.sparse_coo:
        indices, values, size, *rest = data
        return sparse_coo_tensor(indices, values, tuple(size), is_coalesced=bool(rest and rest[0]))
    starts, plain, values, size = data
    return sparse_compressed_tensor(starts, plain, values, tuple(size), layout=layout)


def rebuild_with_state(kind, layout, data, requires_grad, state):
    """What a pickle of a sparse tensor calls."""
    t = rebuild(layout, data)
    if kind is not None:
        t = _C._make_subclass(kind, t, requires_grad)
    elif requires_grad:
        t.requires_grad_()
    if state:
        t.__dict__.update(state)
    return t


def reduce(t):
    """`Tensor.__reduce_ex__` of a sparse tensor."""
    state = dict(getattr(t, "__dict__", None) or {})
    kind = None if type(t) is _C.Tensor else type(t)
    return rebuild_with_state, (kind, *parts(t), t.requires_grad, state)


def copied(t):
    """A leaf with indices and values of its own."""
    new = t.detach().clone()
    if type(t) is not _C.Tensor:
        return _C._make_subclass(type(t), new, t.requires_grad)
    return new.requires_grad_() if t.requires_grad else new
