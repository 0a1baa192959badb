"""Methods of `UntypedStorage` that are written in Python, and `Tensor.set_` with storages.

The type itself is the core's. What it does with its bytes goes through a uint8 tensor over them.
"""

from __future__ import annotations

import sys
from typing import Any

from . import _C

UntypedStorage: Any = _C.UntypedStorage
UntypedStorage.__module__ = "torch.storage"
UntypedStorage.is_sparse = False
UntypedStorage.is_sparse_csr = False

# Names of mapped files by the storage's identity, as long as the mapping lives.
_filenames: dict[int, str] = {}
# How `device.type` is called in the names of casts.
_CASTS = {
    "double": _C.float64, "float": _C.float32, "half": _C.float16, "bfloat16": _C.bfloat16,
    "long": _C.int64, "int": _C.int32, "short": _C.int16, "char": _C.int8, "byte": _C.uint8,
    "bool": _C.bool, "complex_double": _C.complex128, "complex_float": _C.complex64,
}  # fmt: skip


def _method(function):
    setattr(UntypedStorage, function.__name__, function)
    return function


def tensor_over(storage, dtype=_C.uint8):
    """A tensor over all whole elements of an untyped storage."""
    count = storage.nbytes() // dtype.itemsize
    return _C._tensor_from_storage(storage, dtype, 0, (count,), (1,))


def _needs_data(storage):
    if storage.device.type == "meta":
        raise NotImplementedError("Not available for 'meta' device type")


# ---- elements -----------------------------------------------------------------------------------


@_method
def __getitem__(self, index):
    _needs_data(self)
    size = self.nbytes()
    if isinstance(index, slice):
        start, stop, step = index.indices(size)
        if step != 1:
            raise RuntimeError(f"storage: slices have step 1, got {step}")
        if stop <= start:
            return UntypedStorage(0)
        return _C._from_buffer(memoryview(self)[start:stop]).untyped_storage()
    if not isinstance(index, int):
        raise TypeError(f"can't index a {type(self)} with {type(index)}")
    if not -size <= index < size:
        raise IndexError(f"index {index} out of range for storage of size {size}")
    return memoryview(self)[index]


@_method
def __setitem__(self, index, value):
    _needs_data(self)
    if isinstance(index, slice):
        if index.step not in (None, 1):
            raise RuntimeError(f"storage: slices have step 1, got {index.step}")
        tensor_over(self)[index] = value
        return
    if not isinstance(index, int):
        raise TypeError(f"can't index a {type(self)} with {type(index)}")
    size = self.nbytes()
    if not -size <= index < size:
        raise IndexError(f"index {index} out of range for storage of size {size}")
    memoryview(self)[index] = value & 255


@_method
def __iter__(self):
    _needs_data(self)
    return iter(bytes(self))


@_method
def tolist(self):
    """The bytes as a list of integers."""
    _needs_data(self)
    return list(bytes(self))


def _repr(self):
    info = f"[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"
    if self.device.type == "meta":
        return "...\n" + info
    return " " + "\n ".join(map(str, bytes(self))) + "\n" + info


UntypedStorage.__repr__ = _repr
UntypedStorage.__str__ = _repr


# Each call of `untyped_storage()` wraps the storage anew.
def _equal(self, other):
    if not isinstance(other, UntypedStorage):
        return NotImplemented
    return self._cdata == other._cdata


UntypedStorage.__eq__ = _equal
UntypedStorage.__hash__ = lambda self: hash(self._cdata)


@_method
def fill_(self, value):
    """Sets every byte to ``value``."""
    _needs_data(self)
    tensor_over(self).fill_(value)
    return self


@_method
def copy_(self, source, non_blocking=None):
    """Copies the bytes of another storage of the same size."""
    source = getattr(source, "_untyped_storage", source)
    if not isinstance(source, UntypedStorage):
        raise TypeError(f"copy_: expected a storage, got {type(source).__name__}")
    if source.nbytes() != self.nbytes():
        raise RuntimeError(
            f"size does not match, self was {self.nbytes()} bytes but src was "
            f"{source.nbytes()} bytes"
        )
    if self.device.type != "meta":
        _needs_data(source)
        tensor_over(self).copy_(tensor_over(source))
    return self


@_method
def clone(self):
    """A copy of this storage."""
    return UntypedStorage(self.nbytes(), device=self.device).copy_(self)


@_method
def __copy__(self):
    return self.clone()


@_method
def __deepcopy__(self, memo):
    from ._pickle import StorageHandle, storage_handle_of

    # Tensors over this storage share the copy: the same entry as theirs.
    handle = storage_handle_of(self)
    copies = memo.setdefault("flambeau.storages", {})
    _, copied = copies.get(id(handle), (handle, None))
    if copied is None:
        copied = StorageHandle(self.clone())
        copies[id(handle)] = (handle, copied)
    return copied.storage


def _storage_of_handle(handle):
    return handle.storage


@_method
def __reduce_ex__(self, protocol):
    from ._pickle import storage_handle_of

    return _storage_of_handle, (storage_handle_of(self),)


@_method
def __sizeof__(self):
    return object.__sizeof__(self) + self.nbytes()


@_method
def byteswap(self, dtype):
    """Reverses the bytes of each element of ``dtype`` (of each half of a complex one)."""
    _needs_data(self)
    size = dtype.itemsize // (2 if dtype.is_complex else 1)
    swap_bytes(self, size)


def swap_bytes(storage, itemsize: int) -> None:
    """Reverses each run of ``itemsize`` bytes; a rest at the end stays."""
    count = storage.nbytes() // itemsize
    if itemsize > 1 and count:
        rows = _C._tensor_from_storage(storage, _C.uint8, 0, (count, itemsize), (itemsize, 1))
        rows.copy_(rows.flip((1,)))


# ---- kind and device ----------------------------------------------------------------------------


@_method
def untyped(self):
    """This storage."""
    return self


@_method
def new(self):
    """An empty storage on the same device."""
    return UntypedStorage(0, device=self.device)


@_method
def element_size(self):
    return 1


def _type(self, dtype=None, non_blocking=False):
    """The name of the type, or this storage as ``dtype``."""
    if dtype is None:
        return "torch.storage.UntypedStorage"
    if dtype in (UntypedStorage, "torch.storage.UntypedStorage", "torch.UntypedStorage"):
        return self
    raise RuntimeError(f"type: an untyped storage has no elements to make {dtype} of")


UntypedStorage.type = _type


@_method
def get_device(self):
    """The device's index: None on the CPU."""
    return self.device.index


@_method
def is_pinned(self, device=None):
    return False


@_method
def pin_memory(self, device=None):
    raise RuntimeError("pin_memory: this build has no device that page-locked memory is for")


@_method
def cpu(self):
    """This storage; on the CPU already."""
    _needs_data(self)
    return self


@_method
def to(self, *, device, non_blocking=False):
    """This storage on ``device``."""
    device = device if isinstance(device, _C.device) else _C.device(device)
    if device.type == self.device.type:
        return self
    return UntypedStorage(self.nbytes(), device=device).copy_(self)


@_method
def cuda(self, device=None, non_blocking=False):
    return self.to(device=_C.device("cuda", device or 0))


UntypedStorage.is_cuda = property(lambda self: False)
UntypedStorage.is_hpu = property(lambda self: False)
UntypedStorage.filename = property(lambda self: _filenames.get(self._cdata))
UntypedStorage._get_filename = lambda self: self.filename


@_method
def _to(self, dtype):
    from ._storage import typed

    # A cast changes each byte's value, as if the storage held bytes.
    t = tensor_over(self)
    return typed(t.clone() if dtype == _C.uint8 else t.to(dtype))


def _cast(dtype):
    return lambda self: self._to(dtype)


for _name, _dtype in _CASTS.items():
    _function = _cast(_dtype)
    _function.__name__, _function.__doc__ = _name, f"A typed storage of {_dtype} of the bytes."
    setattr(UntypedStorage, _name, _function)


# ---- out of buffers and files -------------------------------------------------------------------


def _from_buffer(buffer, byte_order=None, count=-1, offset=0, dtype=None):
    """A new storage with elements copied from ``buffer``.

    Args:
        byte_order: ``"native"``, ``"little"`` or ``"big"``: how the buffer holds its elements.
        count: how many elements; -1 takes all.
        offset: bytes to leave out at the start.
        dtype: of the elements.
    """
    if not isinstance(dtype, _C.dtype):
        raise TypeError("from_buffer: 'dtype' must be given, a torch.dtype")
    itemsize = dtype.itemsize
    if byte_order is None and itemsize > 1 and dtype != _C.bool:
        raise RuntimeError(f"from_buffer: 'byte_order' must be given for elements of {dtype}")
    if byte_order not in (None, "native", "little", "big"):
        raise ValueError(
            f"from_buffer: invalid byte_order {byte_order!r} (expected 'big', 'little' or 'native')"
        )
    view = memoryview(buffer).cast("B")
    if not 0 <= offset < max(view.nbytes, 1):
        raise ValueError(
            f"offset must be non-negative and no greater than buffer length ({view.nbytes}), "
            f"got {offset}"
        )
    left = view.nbytes - offset
    if count < 0:
        if left % itemsize:
            raise ValueError(
                f"buffer size ({left}) must be a multiple of element size ({itemsize})"
            )
        count = left // itemsize
    elif count * itemsize > left:
        raise ValueError(
            f"buffer has only {left // itemsize} elements after offset {offset}, but specified a "
            f"size of {count}"
        )
    storage = UntypedStorage(count * itemsize)
    memoryview(storage)[:] = view[offset : offset + count * itemsize]
    if byte_order not in (None, "native", sys.byteorder):
        storage.byteswap(dtype)
    return storage


def map_file(path, nbytes: int, shared: bool):
    """A storage over the first ``nbytes`` of the file ``path``; see `UntypedStorage.from_file`."""
    import mmap
    import os
    import weakref

    flags = os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY
    descriptor = os.open(path, flags, 0o666)
    try:
        size = os.fstat(descriptor).st_size
        if size < nbytes:
            if not shared:
                raise RuntimeError(
                    f"from_file: file '{path}' has {size} bytes, {nbytes} are asked for"
                )
            os.ftruncate(descriptor, nbytes)
        if not nbytes:
            return UntypedStorage(0)
        access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
        mapped = mmap.mmap(descriptor, nbytes, access=access)
    finally:
        os.close(descriptor)
    storage = _C._from_buffer(mapped).untyped_storage()
    key = storage._cdata
    _filenames[key] = os.fspath(path)
    weakref.finalize(mapped, _filenames.pop, key, None)
    return storage


def _from_file(filename, shared=False, nbytes=0):
    """A storage over a file that is mapped into memory.

    Args:
        filename: path of the file.
        shared: True: writes go to the file, which is made and lengthened as needed. False: they
            stay private, and the file must have the bytes.
        nbytes: how many bytes of the file.
    """
    return map_file(filename, nbytes, bool(shared))


def _new_shared(size, *, device="cpu"):
    """A storage of ``size`` bytes that child processes share."""
    storage = UntypedStorage(size, device=device)
    if hasattr(storage, "share_memory_"):
        return storage.share_memory_()
    import mmap

    if not size:
        return storage
    return _C._from_buffer(mmap.mmap(-1, size)).untyped_storage()


UntypedStorage.from_buffer = staticmethod(_from_buffer)
UntypedStorage.from_file = staticmethod(_from_file)
UntypedStorage._new_shared = staticmethod(_new_shared)


@_method
def _write_file(self, f, is_real_file, save_size, element_size):
    """Writes the bytes, after the number of elements if ``save_size``, to the file ``f``."""
    _needs_data(self)
    if save_size:
        f.write((self.nbytes() // element_size).to_bytes(8, sys.byteorder))
    f.write(memoryview(self))


def _new_with_file(f, element_size):
    """Reads what `_write_file` wrote with its size."""
    nbytes = int.from_bytes(f.read(8), sys.byteorder, signed=True) * element_size
    data = f.read(max(nbytes, 0))
    if nbytes < 0 or len(data) != nbytes:
        raise RuntimeError(f"storage: the file has {len(data)} of {nbytes} bytes")
    return _from_buffer(data, dtype=_C.uint8) if data else UntypedStorage(0)


UntypedStorage._new_with_file = staticmethod(_new_with_file)


# ---- tensors ------------------------------------------------------------------------------------

_set_to_tensor = _C.Tensor.set_


def _set(self, source=None, storage_offset=0, size=None, stride=None):
    """Makes this tensor show other memory: that of a tensor, or of a storage.

    Args:
        source: a tensor, a storage, or None for no elements.
        storage_offset: with a storage, the element where the tensor begins.
        size, stride: with a storage, its geometry; all elements in a row without.
    """
    if source is None:
        return _set_to_tensor(self, _C.ops.empty((0,), dtype=self.dtype, device=self.device))
    if isinstance(source, _C.Tensor):
        if size is not None:
            source = source.untyped_storage()
        else:
            return _set_to_tensor(self, source)
    dtype = getattr(source, "_dtype_or_none", None)
    if dtype is not None and dtype != self.dtype:
        raise RuntimeError(
            f"Expected a Storage of type {self.dtype} or an UntypedStorage, but got {dtype}"
        )
    storage = getattr(source, "_untyped_storage", source)
    if not isinstance(storage, UntypedStorage):
        raise TypeError(
            "set_(): argument 'source' (position 1) must be Tensor or a storage, not "
            f"{source.__class__.__name__}"
        )
    if size is None:
        size = (max(storage.nbytes() // self.dtype.itemsize - storage_offset, 0),)
    size = (size,) if isinstance(size, int) else tuple(size)
    if not stride:
        stride, step = [], 1
        for n in reversed(size):
            stride.insert(0, step)
            step *= max(n, 1)
    t = _C._tensor_from_storage(storage, self.dtype, storage_offset, size, tuple(stride))
    return _set_to_tensor(self, t)


setattr(_C.Tensor, "set_", _set)  # noqa: B010
