"""Copying and pickling of tensors: what `Tensor.__reduce_ex__` and `__deepcopy__` call.

A tensor pickles as (storage, dtype, offset, sizes, strides). Tensors that share a storage name the
same `StorageHandle`, which pickle memoizes, so they share it again afterwards. `copy.copy` hands
the handle over as it is and thus gives a tensor on the same memory.
"""

from __future__ import annotations

import copyreg
from _pickle import PickleBuffer
from weakref import WeakValueDictionary

from . import _C


class StorageHandle:
    """One object per living storage, however often `untyped_storage()` wraps it anew."""

    __slots__ = ("storage", "__weakref__")

    def __init__(self, storage) -> None:
        self.storage = storage

    def __reduce_ex__(self, protocol):
        if protocol >= 5:
            return _storage_from_bytes, (PickleBuffer(self.storage),)
        return _storage_from_bytes, (bytes(self.storage),)


_handles: WeakValueDictionary = WeakValueDictionary()


def storage_handle(t) -> StorageHandle:
    """The handle of the storage of `t`."""
    return storage_handle_of(t.untyped_storage())


def storage_handle_of(storage) -> StorageHandle:
    """The handle of an untyped storage."""
    key = storage._cdata
    handle = _handles.get(key)
    if handle is None:
        handle = _handles[key] = StorageHandle(storage)
    return handle


def copy_storage(data):
    """A new storage with the bytes of `data` (a storage or any buffer)."""
    view = memoryview(data)
    storage = _C.UntypedStorage(view.nbytes)
    if view.nbytes:
        memoryview(storage)[:] = view.cast("B")
    return storage


def _storage_from_bytes(data) -> StorageHandle:
    if isinstance(data, _C.UntypedStorage):
        return StorageHandle(data)  # out of band: the memory is there already
    return StorageHandle(copy_storage(data))


def _by_name(name: str):
    """A dtype, memory format or layout."""
    return getattr(_C, name)


def _device(text: str):
    return _C.device(text)


# These types call themselves torch's, where a plain pickle would look for them in vain.
for _type in (_C.dtype, _C.memory_format, _C.layout):
    copyreg.pickle(_type, lambda tag: (_by_name, (str(tag).removeprefix("torch."),)))
copyreg.pickle(_C.device, lambda device: (_device, (str(device),)))


def generator_state(generator) -> tuple:
    """What a file holds of a generator: (seed, offset, which the CPU's lacks, state)."""
    return generator.initial_seed(), None, generator.get_state()


def _generator(device):
    return _C.Generator(device)


def _set_generator_state(self, state: tuple) -> None:
    seed, _, t = state
    self.manual_seed(seed)
    self.set_state(t)


copyreg.pickle(_C.Generator, lambda g: (_generator, (g.device,), generator_state(g)))
setattr(_C.Generator, "__setstate__", _set_generator_state)  # noqa: B010


# `kind` is None for Tensor itself.
def _rebuild_tensor(kind, handle, dtype, offset, sizes, strides, requires_grad, state):
    t = _C._tensor_from_storage(handle.storage, dtype, offset, sizes, strides)
    return _finish(kind, t, requires_grad, state)


def _rebuild_meta_tensor(kind, dtype, sizes, strides, requires_grad, state):
    t = _C.ops.empty_strided(sizes, strides, dtype=dtype, device="meta")
    return _finish(kind, t, requires_grad, state)


def _finish(kind, t, requires_grad: bool, state):
    if kind is not None:
        t = _C._make_subclass(kind, t, requires_grad)
    elif requires_grad:
        t.requires_grad_()
    if state:
        t.__dict__.update(state)
    return t


def with_memory(t):
    """The tensor to save for ``t``: itself, or the value of a dual number of `forward_ad`.

    Raises:
        NotImplementedError: ``t`` is a tensor of another function transform, which has no memory.
    """
    if not _C._transform_level(t):
        return t
    level, _, _, value, *_ = _C._transform_of(t)
    if level.open:
        return with_memory(value)
    raise NotImplementedError(
        "Cannot access storage of a tensor of a function transform (vmap, grad, jvp): it stands "
        "for other tensors. Return it from the transformed function, and save the result."
    )


def _reduce_tensor(t, protocol: int):
    """`Tensor.__reduce_ex__`. A non-leaf pickles as a leaf with the same values."""
    t = with_memory(t)
    if t.layout is not _C.strided:
        from ._sparse.pickling import reduce

        return reduce(t)
    state = dict(getattr(t, "__dict__", None) or {})
    kind = None if type(t) is _C.Tensor else type(t)
    sizes, strides, requires_grad = tuple(t.shape), tuple(t.stride()), t.requires_grad
    if t.device.type == "meta":
        return _rebuild_meta_tensor, (kind, t.dtype, sizes, strides, requires_grad, state)
    handle = storage_handle(t)
    offset = t.storage_offset()
    return _rebuild_tensor, (
        kind, handle, t.dtype, offset, sizes, strides, requires_grad, state,
    )  # fmt: skip


def _deepcopy_tensor(t, memo: dict):
    """`Tensor.__deepcopy__`: a leaf with memory of its own, shared as the originals shared theirs.

    Raises:
        RuntimeError: `t` is not a leaf; its history cannot be copied.
    """
    if id(t) in memo:
        return memo[id(t)]
    if _C._transform_level(t):  # it has no memory: another one of the level
        return memo.setdefault(id(t), t.clone())
    if not t.is_leaf:
        raise RuntimeError(
            "deepcopy: Only Tensors created explicitly by the user (graph leaves) support the "
            f"deepcopy protocol at the moment; this one was made by {t.grad_fn.name()}. Use "
            "t.detach().clone() for a copy without history."
        )
    kind = None if type(t) is _C.Tensor else type(t)
    sizes, strides = tuple(t.shape), tuple(t.stride())
    if t.layout is not _C.strided:
        from ._sparse.pickling import copied

        new = copied(t)
    elif t.device.type == "meta":
        new = _rebuild_meta_tensor(kind, t.dtype, sizes, strides, t.requires_grad, None)
    else:
        handle = storage_handle(t)
        copies = memo.setdefault("flambeau.storages", {})
        # The entry keeps `handle` alive: its identity is the key.
        _, copied = copies.setdefault(id(handle), (handle, None))
        if copied is None:
            copied = StorageHandle(copy_storage(handle.storage))
            copies[id(handle)] = (handle, copied)
        new = _rebuild_tensor(
            kind, copied, t.dtype, t.storage_offset(), sizes, strides, t.requires_grad, None
        )
    memo[id(t)] = new
    if t.grad is not None:
        new.grad = _deepcopy_tensor(t.grad, memo)
    state = getattr(t, "__dict__", None)
    if state:
        from copy import deepcopy  # only tensors with attributes of their own need it

        new.__dict__.update(deepcopy(state, memo))
    return new
