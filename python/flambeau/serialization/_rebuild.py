"""Tensors out of the storages of a file: the functions that PyTorch's pickles name.

Every number comes from the file and is checked before the core sees it.
"""

from __future__ import annotations

from flambeau import _C
from flambeau._storage import TypedStorage

from ._names import import_global
from ._restricted import GlobalRef, refuse, set_attributes, shown


def _integers(values, what: str) -> tuple[int, ...]:
    if not isinstance(values, tuple | list):
        raise refuse(f"a tensor whose {what} is a {type(values).__name__}")
    for v in values:
        if type(v) is not int or not 0 <= v < 1 << 62:
            raise refuse(f"a tensor whose {what} contains {shown(v)}")
    return tuple(values)


def _tensor(storage, offset, size, stride, requires_grad, dtype=None):
    if isinstance(storage, TypedStorage):
        storage, dtype = storage._untyped_storage, dtype or storage.dtype
    if not isinstance(storage, _C.UntypedStorage):
        raise refuse("a tensor without a storage")
    dtype = dtype or _C.uint8
    sizes, strides, offset = _geometry(offset, size, stride)
    _check_bounds(storage.nbytes(), dtype, offset, sizes, strides)
    t = _C._tensor_from_storage(storage, dtype, offset, sizes, strides)
    return _requiring_grad(t, requires_grad)


def _geometry(offset, size, stride) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    sizes, strides = _integers(size, "size"), _integers(stride, "stride")
    (offset,) = _integers((offset,), "storage offset")
    if len(sizes) != len(strides) or len(sizes) > 64:
        raise refuse(f"a tensor with {len(sizes)} sizes and {len(strides)} strides")
    return sizes, strides, offset


def _requiring_grad(t, requires_grad):
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
    if metadata:
        return _with_metadata(storage, offset, size, stride, requires_grad, metadata)
    return _tensor(storage, offset, size, stride, requires_grad)


def _tensor_v3(storage, offset, size, stride, requires_grad, hooks, dtype, metadata=None):
    if not isinstance(dtype, _C.dtype):
        raise refuse("a tensor without a dtype")
    if metadata:
        raise refuse(f"a tensor of dtype {dtype} with metadata")
    return _tensor(storage, offset, size, stride, requires_grad, dtype)


def _with_metadata(storage, offset, size, stride, requires_grad, metadata):
    """Applies the conjugate and negative bits, which are lazy views in PyTorch.

    It does so to the storage, once: a tensor may repeat its elements any number of times.
    """
    if not isinstance(metadata, dict) or not set(metadata) <= {"conj", "neg"}:
        raise refuse("a tensor with unknown metadata")
    if not isinstance(storage, TypedStorage):
        raise refuse("a tensor with metadata and without a typed storage")
    conj, neg = metadata.get("conj") is True, metadata.get("neg") is True
    applied = storage.__dict__.setdefault("_applied", {})
    if (conj, neg) not in applied:
        applied[conj, neg] = _applied(storage, conj, neg)._typed_storage()
    return _tensor(applied[conj, neg], offset, size, stride, requires_grad)


def _applied(storage, conj: bool, neg: bool):
    t = storage._tensor()
    t = t.conj() if conj else t
    return t.neg() if neg else t.clone()


def bytes_have_come(storage) -> None:
    """Applies the bits anew, to a storage that got its bytes after the tensors over it."""
    for bits, target in getattr(storage, "_applied", {}).items():
        target.copy_(_applied(storage, *bits)._typed_storage())


def _meta_tensor(dtype, size, stride, requires_grad):
    if not isinstance(dtype, _C.dtype):
        raise refuse("a tensor without a dtype")
    sizes, strides, _ = _geometry(0, size, stride)
    _check_bounds(1 << 61, dtype, 0, sizes, strides)
    t = _C.ops.empty_strided(sizes, strides, dtype=dtype, device="meta")
    return _requiring_grad(t, requires_grad)


def _from_cpu_tensor(data, dtype, device, requires_grad):
    """A tensor of a device that PyTorch moves to the CPU in files."""
    if not isinstance(data, _C.Tensor) or not isinstance(dtype, _C.dtype):
        raise refuse("a tensor of a device without its data")
    placed = data.detach().to(device=_C.device(device), dtype=dtype)
    return _requiring_grad(placed, requires_grad)


def _layout(name):
    """The layout of a name such as ``torch.strided``."""
    found = getattr(_C, name.removeprefix("torch."), None) if isinstance(name, str) else None
    if not isinstance(found, _C.layout):
        raise refuse(f"the layout {shown(name)}, which this build does not have")
    return found


def _refuse_quantized(*args):
    raise refuse("a quantized tensor, which this build does not have")


def _refuse_nested(*args):
    raise refuse("a nested tensor, which this build does not have")


def _refuse_wrapper(*args):
    raise refuse("a tensor of a wrapper subclass, which this build does not have")


def _refuse_numpy(*args):
    raise refuse("a tensor of another device, saved as a NumPy array; save it from the CPU")


def _sparse_tensor(layout, data):
    from flambeau._sparse.pickling import rebuild

    if not isinstance(layout, _C.layout) or layout is _C.strided:
        raise refuse(f"a sparse tensor of layout {shown(layout)}")
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
    "torch._utils._rebuild_device_tensor_from_cpu_tensor": GlobalRef(_from_cpu_tensor),
    "torch._utils._rebuild_device_tensor_from_numpy": GlobalRef(_refuse_numpy),
    "torch._utils._rebuild_qtensor": GlobalRef(_refuse_quantized),
    "torch._utils._rebuild_nested_tensor": GlobalRef(_refuse_nested),
    "torch._utils._rebuild_wrapper_subclass": GlobalRef(_refuse_wrapper),
    "torch.serialization._get_layout": GlobalRef(_layout),
}
