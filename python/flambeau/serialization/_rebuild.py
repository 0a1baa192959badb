"""Tensors out of the storages of a file: the functions that PyTorch's pickles name.

Every number comes from the file and is checked before the core sees it.
"""

from __future__ import annotations

from flambeau import _C

from ._names import StorageType, import_global
from ._restricted import GlobalRef, refuse, set_attributes


class LoadedStorage:
    """A storage of the file with the dtype it was saved as; `untyped` None: on meta."""

    __slots__ = ("untyped", "kind")

    def __init__(self, untyped, kind: StorageType) -> None:
        self.untyped = untyped
        self.kind = kind


def _integers(values, what: str) -> tuple[int, ...]:
    if not isinstance(values, tuple | list):
        raise refuse(f"a tensor whose {what} is a {type(values).__name__}")
    for v in values:
        if type(v) is not int or not 0 <= v < 1 << 62:
            raise refuse(f"a tensor whose {what} contains {v!r:.40}")
    return tuple(values)


def _tensor(storage, offset, size, stride, requires_grad, dtype=None):
    if not isinstance(storage, LoadedStorage):
        raise refuse("a tensor without a storage")
    dtype = dtype or storage.kind.dtype or _C.uint8
    sizes, strides = _integers(size, "size"), _integers(stride, "stride")
    (offset,) = _integers((offset,), "storage offset")
    if len(sizes) != len(strides) or len(sizes) > 64:
        raise refuse(f"a tensor with {len(sizes)} sizes and {len(strides)} strides")
    if storage.untyped is None:
        t = _C.ops.empty_strided(sizes, strides, dtype=dtype, device="meta")
    else:
        _check_bounds(storage.untyped.nbytes(), dtype, offset, sizes, strides)
        t = _C._tensor_from_storage(storage.untyped, dtype, offset, sizes, strides)
    return t.requires_grad_() if requires_grad is True else t


def _check_bounds(available: int, dtype, offset: int, sizes: tuple, strides: tuple) -> None:
    count = 1
    for n in sizes:
        count *= n
    if count * dtype.itemsize >= 1 << 62:
        raise refuse(f"a tensor of size {sizes}")
    end = offset + 1 + sum((n - 1) * s for n, s in zip(sizes, strides)) if count else 0
    if end * dtype.itemsize > available:
        raise refuse(
            f"a tensor of size {sizes}, stride {strides} and offset {offset} needs "
            f"{end * dtype.itemsize} bytes, its storage has {available}"
        )


def _tensor_v1(storage, offset, size, stride):
    return _tensor(storage, offset, size, stride, False)


def _tensor_v2(storage, offset, size, stride, requires_grad, hooks, metadata=None):
    return _with_metadata(_tensor(storage, offset, size, stride, requires_grad), metadata)


def _tensor_v3(storage, offset, size, stride, requires_grad, hooks, dtype, metadata=None):
    if not isinstance(dtype, _C.dtype):
        raise refuse("a tensor without a dtype")
    return _with_metadata(_tensor(storage, offset, size, stride, requires_grad, dtype), metadata)


def _with_metadata(t, metadata):
    """Applies the conjugate and negative bits, which are lazy views in PyTorch."""
    if not metadata:
        return t
    if not isinstance(metadata, dict) or not set(metadata) <= {"conj", "neg"}:
        raise refuse(f"a tensor with unknown metadata {metadata!r:.80}")
    requires_grad, t = t.requires_grad, t.detach()
    if metadata.get("conj"):
        t = t.conj()
    if metadata.get("neg"):
        t = t.neg()
    return t.requires_grad_() if requires_grad else t


def _meta_tensor(dtype, size, stride, requires_grad):
    if not isinstance(dtype, _C.dtype):
        raise refuse("a tensor without a dtype")
    meta = LoadedStorage(None, StorageType("", dtype))
    return _tensor(meta, 0, size, stride, requires_grad)


def _sparse_tensor(layout, data):
    from flambeau._sparse.pickling import rebuild

    if not isinstance(layout, _C.layout) or layout is _C.strided:
        raise refuse(f"a sparse tensor of layout {layout!r:.40}")
    parts = 2 if layout is _C.sparse_coo else 3
    if not isinstance(data, tuple) or len(data) not in (parts + 1, 4):
        raise refuse("a sparse tensor without its parts")
    if not all(isinstance(t, _C.Tensor) and t.layout is _C.strided for t in data[:parts]):
        raise refuse("a sparse tensor whose parts are not dense tensors")
    return rebuild(layout, (*data[:parts], _integers(data[parts], "size"), *data[parts + 1 :]))


def _parameter(data, requires_grad, hooks, state=None):
    if not isinstance(data, _C.Tensor):
        raise refuse("a Parameter without data")
    kind = import_global("torch.nn.parameter", "Parameter")
    parameter = kind(data.detach(), requires_grad is True)
    if state:
        set_attributes(parameter, state)
    return parameter


def _from_type(function, kind, args, state):
    """A tensor of a subclass: the restricted reader takes it as a tensor or parameter."""
    call = function.call if isinstance(function, GlobalRef) else function
    # Python's unpickler, of trusted files, hands over the functions themselves.
    if not isinstance(args, tuple) or all(call is not known.call for known in REBUILD.values()):
        raise refuse("a tensor made by an unknown function")
    t = call(*args)
    if isinstance(kind, type) and issubclass(kind, _C.Tensor) and type(t) is not kind:
        t = t.as_subclass(kind)
    if state:
        set_attributes(t, state)
    return t


REBUILD = {
    "torch._utils._rebuild_tensor": GlobalRef(_tensor_v1),
    "torch._utils._rebuild_tensor_v2": GlobalRef(_tensor_v2),
    "torch._utils._rebuild_tensor_v3": GlobalRef(_tensor_v3),
    "torch._utils._rebuild_meta_tensor_no_storage": GlobalRef(_meta_tensor),
    "torch._utils._rebuild_sparse_tensor": GlobalRef(_sparse_tensor),
    "torch._utils._rebuild_parameter": GlobalRef(_parameter),
    "torch._utils._rebuild_parameter_with_state": GlobalRef(_parameter),
    "torch._tensor._rebuild_from_type_v2": GlobalRef(_from_type),
}
