"""`save`: a pickle with tensors pulled out, in PyTorch's zip container or the older format.

The pickle names PyTorch's own functions and classes, so that PyTorch reads the file. A storage is
written once, and only the part of it that saved tensors reach where that leaves out a good deal:
the first pass finds the extents, a second one, when one is trimmed, writes the offsets.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import sys
from collections import OrderedDict
from typing import Any

from flambeau import _C, _file_options
from flambeau._pickle import generator_state, with_memory
from flambeau._storage import TypedStorage

from ._archive import ALIGNMENT, ArchiveWriter
from ._legacy import write_legacy
from ._location import location_tag
from ._names import STORAGE_OF_DTYPE, dtype_name, to_torch
from ._options import data_is_skipped

# Leaving out less than this is not worth a storage of another size than the original.
_TRIM_FROM = 4096


def save(
    obj,
    f,
    pickle_module=None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Saves `obj`, with the tensors in it, to a file that `load` and `torch.load` read.

    Args:
        obj: anything that pickles: a state dict, a tensor, nested containers of them.
        f: a path, or a binary file object. A path is written under another name first and then
            renamed: a reader finds the old file or the new one, never a part.
        pickle_module: module whose `Pickler` to use in place of `pickle`'s. It pickles tensors with
            their bytes; only flambeau reads such a file, with weights_only=False.
        pickle_protocol: protocol of the pickle, 2 for files that everything reads.
        _use_new_zipfile_serialization: False writes the format before PyTorch 1.6.

    Tensors that share memory share it again after loading. Of a large storage only the part that
    the saved tensors reach is written.

    Example:
        >>> import flambeau, io
        >>> file = io.BytesIO()
        >>> flambeau.save({"weight": flambeau.ones(2)}, file)
        >>> _ = file.seek(0)
        >>> flambeau.load(file)
        {'weight': tensor([1., 1.])}
    """
    is_path = isinstance(f, str | os.PathLike)
    if not is_path and not hasattr(f, "write"):
        raise AttributeError(
            f"save: expected 'f' to be a string, path, or a file object with 'write', "
            f"got {type(f).__name__}"
        )
    folder = "archive"
    if is_path:
        folder = os.path.splitext(os.path.basename(os.fspath(f)))[0] or folder
    if pickle_module in (None, pickle):
        data, storages = _pickle(obj, pickle_protocol, not _use_new_zipfile_serialization)
    else:
        data, storages = _pickle_with(pickle_module, obj, pickle_protocol), []

    def write(file) -> None:
        if _use_new_zipfile_serialization:
            _write(file, folder, data, storages, not _disable_byteorder_record)
        else:
            write_legacy(file, data, storages, pickle_protocol)

    if is_path:
        with replacing(os.fspath(f)) as file:
            write(file)
    else:
        write(f)


def _pickle_with(module, obj, protocol: int) -> bytes:
    buffer = io.BytesIO()
    module.Pickler(buffer, protocol=protocol).dump(obj)
    return buffer.getvalue()


def _write(file, folder: str, data: bytes, storages: list, byteorder: bool) -> None:
    options = _file_options.save
    writer = ArchiveWriter(file, folder, options.storage_alignment, options.compute_crc32)
    writer.write("data.pkl", data)
    writer.write(".format_version", b"1")
    writer.write(".storage_alignment", str(options.storage_alignment).encode())
    if byteorder:
        writer.write("byteorder", sys.byteorder.encode())
    skip = data_is_skipped()
    for storage in storages:
        part = storage.kept()
        writer.write(f"data/{storage.key}", bytes(part.nbytes) if skip else part)
    writer.write("version", b"3\n")
    writer.close()


@contextlib.contextmanager
def replacing(path: str):
    """A binary file that takes the place of `path` when the block ends well."""
    path = os.path.realpath(path)
    if os.path.exists(path) and not os.path.isfile(path):
        if os.path.isdir(path):
            raise IsADirectoryError(f"save: '{path}' is a directory")
        with open(path, "wb") as file:  # a device or a pipe
            yield file
        return
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise RuntimeError(f"save: Parent directory {folder} does not exist.")
    temporary = f"{path}.{os.getpid()}.{os.urandom(4).hex()}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(temporary, flags, 0o666)
    try:
        with open(handle, "wb") as file:
            yield file
        if os.path.exists(path):
            os.chmod(temporary, os.stat(path).st_mode & 0o7777)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


# ---- pickling -----------------------------------------------------------------------------------


class _Storage:
    """A storage to write, and the bytes of it that tensors reach."""

    def __init__(self, key: str, storage, dtype) -> None:
        self.key = key
        self.storage = storage
        self.dtype = dtype
        self.start = self.stop = -1

    def reach(self, start: int, stop: int) -> None:
        if start < stop:
            self.start = start if self.start < 0 else min(self.start, start)
            self.stop = max(self.stop, stop)

    def trim(self) -> bool:
        """Settles the part to write; True if that is less than all."""
        total = self.storage.nbytes()
        start, stop = max(self.start, 0) // ALIGNMENT * ALIGNMENT, max(self.stop, 0)
        if total - (stop - start) >= _TRIM_FROM:
            self.start, self.stop = start, stop
            return True
        self.keep_all()
        return False

    def keep_all(self) -> None:
        self.start, self.stop = 0, self.storage.nbytes()

    def kept(self) -> memoryview:
        if self.storage.device.type != "cpu":
            return memoryview(self.storage.to(device="cpu"))[self.start : self.stop]
        return memoryview(self.storage)[self.start : self.stop]

    @property
    def itemsize(self) -> int:
        """Of the class by dtype that the file names; 1 where there is none."""
        return self.dtype.itemsize if dtype_name(self.dtype) in _STORAGES else 1


class _TorchGlobal:
    """A global of PyTorch's, written by name."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    def __call__(self, *args):
        raise TypeError(f"{self.module}.{self.name} only exists in files")


def _utils(name: str) -> _TorchGlobal:
    return _TorchGlobal("torch._utils", name)


_REBUILD_TENSOR = _utils("_rebuild_tensor_v2")
_REBUILD_TENSOR_OF_DTYPE = _utils("_rebuild_tensor_v3")
_REBUILD_SPARSE = _utils("_rebuild_sparse_tensor")
_GET_LAYOUT = _TorchGlobal("torch.serialization", "_get_layout")
_UNTYPED = _TorchGlobal("torch.storage", "UntypedStorage")
_REBUILD_META = _utils("_rebuild_meta_tensor_no_storage")
_REBUILD_PARAMETER = _utils("_rebuild_parameter")
_REBUILD_PARAMETER_WITH_STATE = _utils("_rebuild_parameter_with_state")
_REBUILD_FROM_TYPE = _TorchGlobal("torch._tensor", "_rebuild_from_type_v2")
_SIZE = _TorchGlobal("torch", "Size")
_DEVICE = _TorchGlobal("torch", "device")
_GENERATOR = _TorchGlobal("torch._C", "Generator")
_STORAGES = {dtype: _TorchGlobal("torch", name) for dtype, name in STORAGE_OF_DTYPE.items()}


class _StorageRef:
    """A tensor's mention of a storage; becomes a persistent id."""

    __slots__ = ("id",)

    def __init__(self, id: tuple) -> None:
        self.id = id


def _pickle(obj, protocol: int, legacy: bool) -> tuple[bytes, list[_Storage]]:
    first = _TensorPickler(protocol, {}, legacy)
    data = first.run(obj)
    trimmed = [s.trim() for s in first.storages.values()]
    if not any(trimmed):
        return data, list(first.storages.values())
    second = _TensorPickler(protocol, first.storages, legacy)
    data = second.run(obj)
    for storage in second.storages.values():
        if storage.key not in second.settled:  # made by a __reduce__ during the second pass
            storage.keep_all()
    return data, list(second.storages.values())


# The C pickler insists on importing each global that it names, which files for PyTorch forbid.
_PurePickler: Any = vars(pickle)["_Pickler"]


class _TensorPickler(_PurePickler):
    def __init__(self, protocol: int, known: dict, legacy: bool) -> None:
        self._buffer = io.BytesIO()
        self.legacy = legacy
        super().__init__(self._buffer, protocol)
        self.storages: dict[int, _Storage] = dict(known)
        self.settled = {s.key for s in known.values()}

    def run(self, obj) -> bytes:
        self.dump(obj)
        return self._buffer.getvalue()

    def persistent_id(self, obj):
        if type(obj) is _StorageRef:
            return obj.id
        if isinstance(obj, TypedStorage):
            return self._whole(obj._untyped_storage, obj.dtype)
        if isinstance(obj, _C.UntypedStorage):
            return self._whole(obj, None)
        return None

    def _whole(self, untyped, dtype):
        storage = self._storage(untyped, dtype or _C.uint8)
        storage.reach(0, untyped.nbytes())
        return self._id(storage, None if dtype is None else dtype_name(dtype), untyped.nbytes())

    def _id(self, storage, dtype: str | None, nbytes: int) -> tuple:
        kind = _STORAGES.get(dtype or "", _UNTYPED)
        count = nbytes if kind is _UNTYPED else nbytes // storage.dtype.itemsize
        id = ("storage", kind, storage.key, location_tag(storage.storage), count)
        return (*id, None) if self.legacy else id

    def reducer_override(self, obj):
        if isinstance(obj, _C.Tensor):
            return self._tensor(with_memory(obj))
        if isinstance(obj, _TorchGlobal):
            return obj.name
        if isinstance(obj, _C.dtype | _C.memory_format):
            return str(obj).removeprefix("torch.")
        if isinstance(obj, _C.layout):
            return _GET_LAYOUT, (str(obj),)
        if isinstance(obj, tuple) and type(obj).__name__ == "Size":
            return _SIZE, (tuple(obj),)
        if isinstance(obj, _C.Generator):
            return _GENERATOR, (obj.device,), generator_state(obj)
        if isinstance(obj, _C.device):
            return _DEVICE, (obj.type, *(() if obj.index is None else (obj.index,)))
        return NotImplemented

    def _tensor(self, t):
        kind, state = type(t), getattr(t, "__dict__", None)
        if kind is _C.Tensor and not state:
            return self._plain(t)
        if kind.__module__ == "flambeau.nn.parameter" and kind.__name__.startswith("Uninit"):
            return _TorchGlobal("torch.nn.parameter", kind.__name__), (t.requires_grad,)
        if kind.__name__ == "Parameter" and kind.__module__ == "flambeau.nn.parameter":
            args: tuple = (t.detach().as_subclass(_C.Tensor), t.requires_grad, OrderedDict())
            if state:
                return _REBUILD_PARAMETER_WITH_STATE, (*args, dict(state))
            return _REBUILD_PARAMETER, args
        function, args = self._plain(t)
        return _REBUILD_FROM_TYPE, (function, kind, args, dict(state or {}))

    def _plain(self, t):
        if t.layout is not _C.strided:
            from flambeau._sparse.pickling import parts

            return _REBUILD_SPARSE, parts(t)
        sizes, strides = tuple(t.shape), tuple(t.stride())
        if t.device.type == "meta":
            return _REBUILD_META, (t.dtype, sizes, strides, t.requires_grad)
        storage = self._storage(t.untyped_storage(), t.dtype)
        offset, itemsize = t.storage_offset(), t.dtype.itemsize
        if storage.key in self.settled:
            nbytes = storage.stop - storage.start
            # An empty tensor reaches nothing and may lie outside the part kept.
            offset = min(max(offset - storage.start // itemsize, 0), nbytes // itemsize)
        else:
            nbytes = storage.storage.nbytes()
            reach = 1 + sum((n - 1) * s for n, s in zip(sizes, strides)) if t.numel() else 0
            storage.reach(offset * itemsize, (offset + reach) * itemsize)
        ref = _StorageRef(self._id(storage, dtype_name(t.dtype), nbytes))
        args: tuple = (ref, offset, sizes, strides, t.requires_grad, OrderedDict())
        if dtype_name(t.dtype) not in _STORAGES:
            return _REBUILD_TENSOR_OF_DTYPE, (*args, t.dtype)
        return _REBUILD_TENSOR, args

    def _storage(self, storage, dtype) -> _Storage:
        found = self.storages.get(storage._cdata)
        if found is None:
            # Held here, so that no other storage gets its address while this runs.
            found = _Storage(str(len(self.storages)), storage, dtype)
            self.storages[storage._cdata] = found
        elif found.dtype != dtype:
            raise RuntimeError(
                "save: Cannot save multiple tensors or storages that view the same data as "
                f"different types: {found.dtype} and {dtype}; save a clone of one"
            )
        return found

    def save_global(self, obj, name=None) -> None:
        module = getattr(obj, "module", None) if isinstance(obj, _TorchGlobal) else None
        if isinstance(obj, _C.dtype | _C.memory_format):
            module = "torch"
        if obj is _C.Tensor:
            module, name = "torch", "Tensor"
        if module is None:
            qualified = name or getattr(obj, "__qualname__", None)
            found = getattr(obj, "__module__", None) or ""
            module = to_torch(found, qualified or "")
            if module == found or qualified is None:
                super().save_global(obj, name)
                return
            name = qualified
        if self.proto >= 4:
            self.save(module)
            self.save(name)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(obj)

    # The dispatch table of the base class is by type and holds the base class's save_global.
    dispatch = dict(_PurePickler.dispatch)
    dispatch[type(save)] = save_global

    def save_type(self, obj) -> None:
        if obj.__module__.partition(".")[0] == "flambeau" or obj is _C.Tensor:
            self.save_global(obj)
        else:
            super().save_type(obj)

    dispatch[type] = save_type
