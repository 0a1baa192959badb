"""`load`: files of `save` and `torch.save`, the zip format and the one before PyTorch 1.6.

With `weights_only` (the default) the pickle goes through the restricted unpickler; without, through
Python's, with PyTorch's names standing for ours.
"""

from __future__ import annotations

import io
import mmap as _mmap
import os
import pickle
import struct
import sys

from flambeau import _C

from ._archive import ArchiveReader
from ._names import STORAGE_TYPES, StorageType, import_global, plain_globals
from ._rebuild import REBUILD, LoadedStorage
from ._restricted import GlobalRef, RestrictedUnpickler, refuse
from ._safe import trusted_globals

_LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
_LEGACY_PROTOCOL = 1001


def load(
    f,
    map_location=None,
    pickle_module=None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args,
):
    """Loads what `save` or `torch.save` wrote.

    Args:
        f: a path, or a binary file object that can seek.
        map_location: device for the tensors: a device, its name, a dict from saved to wanted
            names, or a function of (storage, saved name) that returns a storage or None.
        pickle_module: None or `pickle`; others are refused.
        weights_only: True (the default) reads tensors, plain containers and numbers, and whatever
            `add_safe_globals` names, and never runs code. False unpickles anything, which can run
            any code: only for files that you trust.
        mmap: map the file into memory and read parts of it on use; writes stay private.

    Raises:
        pickle.UnpicklingError: the file holds something that `weights_only` refuses.
        RuntimeError: the file is cut off or damaged (each record's CRC is verified).

    Example: see `save`.
    """
    if pickle_module not in (None, pickle):
        raise ValueError(f"load: pickle_module must be None or pickle, got {pickle_module!r}")
    trust = weights_only is False
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as file:
            return _load_file(file, f"'{os.fspath(f)}'", map_location, trust, mmap)
    if not all(hasattr(f, name) for name in ("read", "readline", "seek", "tell")):
        raise AttributeError(
            "load: expected 'f' to be a path or a file object with 'read', 'readline', 'tell' and "
            f"'seek', got {type(f).__name__}; load it into a buffer such as io.BytesIO first"
        )
    if mmap:
        raise ValueError("load: mmap needs a path, got a file object")
    return _load_file(f, "the file", map_location, trust, mmap)


def _load_file(file, label: str, map_location, trust: bool, mmap):
    start = file.tell()
    head = file.read(4)
    file.seek(start)
    if not head:
        raise EOFError(f"load: {label} is empty (Ran out of input)")
    place = _Placement(map_location)
    if head == b"PK\x03\x04":
        source = file if start == 0 else io.BytesIO(file.read())
        return _load_archive(source, label, place, trust, mmap)
    if mmap:
        raise RuntimeError(f"load: mmap needs the zip format, {label} has another one")
    return _load_legacy(file, label, place, trust)


# ---- where storages go --------------------------------------------------------------------------


class _Placement:
    """`map_location`, applied to storages."""

    def __init__(self, map_location) -> None:
        self._function = map_location if callable(map_location) else None
        self._names = map_location if isinstance(map_location, dict) else None
        self._device = None
        if isinstance(map_location, str | _C.device):
            self._device = _C.device(map_location)
        elif map_location is not None and self._function is None and self._names is None:
            raise TypeError(
                "load: map_location must be None, a device, a string, a dict or a function, got "
                f"{type(map_location).__name__}"
            )

    def _target(self, location: str):
        if self._device is not None:
            return self._device.type
        if self._names is not None:
            mapped = self._names.get(location, location)
            return mapped.type if isinstance(mapped, _C.device) else str(mapped)
        return location

    def reads(self, location: str) -> bool:
        """False where the bytes are not needed."""
        return self._target(location) != "meta"

    def place(self, storage, location: str):
        """The storage to use for one saved at `location`."""
        if self._function is not None:
            placed = self._function(storage, location)
            if placed is not None:
                return placed
        target = self._target(location).partition(":")[0]
        if target != "cpu":
            raise RuntimeError(
                f"load: Attempting to deserialize object on a {target} device, which this build "
                "does not have. Use map_location='cpu' to load the tensors onto the CPU."
            )
        return storage


def _swap_bytes(storage, itemsize: int) -> None:
    view = memoryview(storage)
    for i in range(itemsize // 2):
        j = itemsize - 1 - i
        low = bytes(view[i::itemsize])
        view[i::itemsize] = view[j::itemsize]
        view[j::itemsize] = low


def _swap_unit(kind: StorageType) -> int:
    return kind.itemsize // (2 if kind.dtype is not None and kind.dtype.is_complex else 1)


# ---- unpicklers ---------------------------------------------------------------------------------


class _TrustingUnpickler(pickle.Unpickler):
    def __init__(self, file, persistent_load) -> None:
        super().__init__(file, encoding="utf-8")
        self._load_storage = persistent_load

    def persistent_load(self, pid):
        return self._load_storage(pid)

    def find_class(self, module: str, name: str):
        full = f"{module}.{name}"
        if full in REBUILD:
            return REBUILD[full].call
        if full in STORAGE_TYPES:
            return STORAGE_TYPES[full]
        return (
            import_global(module, name)
            if module.startswith("torch")
            else super().find_class(module, name)
        )


def _encode(text="", encoding="latin1"):
    # How protocol 2 writes bytes.
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise refuse("bytes in an unexpected encoding")
    return text.encode("latin1")


def _bytearray(data=b"", encoding="latin1"):
    if isinstance(data, str):
        data = _encode(data, encoding)
    if not isinstance(data, bytes):
        raise refuse("a bytearray of something else than bytes")
    return bytearray(data)


def _unpickle(file, trust: bool, persistent_load):
    if trust:
        return _TrustingUnpickler(file, persistent_load).load()
    allowed = {
        **plain_globals(),
        **REBUILD,
        "_codecs.encode": GlobalRef(_encode),
        "builtins.bytearray": GlobalRef(_bytearray),
        "__builtin__.bytearray": GlobalRef(_bytearray),
    }
    return RestrictedUnpickler(file, allowed, trusted_globals(), persistent_load).load()


def _storage_id(pid, length: int) -> tuple:
    if not isinstance(pid, tuple) or len(pid) != length or pid[0] != "storage":
        raise refuse(f"an unknown persistent id {pid!r:.80}")
    kind, key, location, count = pid[1:5]
    valid = isinstance(kind, StorageType) and isinstance(key, str) and isinstance(location, str)
    if not valid or type(count) is not int or not 0 <= count < 1 << 60:
        raise refuse(f"an invalid persistent id {pid!r:.80}")
    return pid[1:]


# ---- zip format ---------------------------------------------------------------------------------


def _load_archive(file, label: str, place: _Placement, trust: bool, mmap):
    archive = ArchiveReader(file, label)
    if "constants.pkl" in archive:
        raise RuntimeError(f"load: {label} is a TorchScript archive; use flambeau.jit.load")
    order: str = sys.byteorder
    if "byteorder" in archive:
        order = archive.read("byteorder", 16).decode("ascii", "replace")
        if order not in ("little", "big"):
            raise archive.error(f"unknown byte order {order!r}")
    mapped = None
    if mmap:
        mapped = memoryview(_mmap.mmap(file.fileno(), 0, access=_mmap.ACCESS_COPY))
    loaded: dict[str, LoadedStorage] = {}

    def persistent_load(pid):
        kind, key, location, count = _storage_id(pid, 5)
        if key not in loaded:
            storage = _read_storage(archive, key, count * kind.itemsize, place, location, mapped)
            if order != sys.byteorder and storage is not None:
                _swap_bytes(storage, _swap_unit(kind))
            loaded[key] = LoadedStorage(storage, kind)
        found = loaded[key]
        return found if found.kind is kind else LoadedStorage(found.untyped, kind)

    return _unpickle(io.BytesIO(archive.read("data.pkl")), trust, persistent_load)


def _read_storage(archive, key: str, nbytes: int, place: _Placement, location: str, mapped):
    name = f"data/{key}"
    size = archive.size(name)
    if size < nbytes:
        raise archive.error(f"the record '{name}' has {size} bytes, {nbytes} are expected")
    if not place.reads(location):
        return None
    if mapped is not None and size:
        start, size = archive.locate(name)
        storage = _C._from_buffer(mapped[start : start + size]).untyped_storage()
    else:
        storage = _C.UntypedStorage(size)
        archive.read_into(name, memoryview(storage))
    return place.place(storage, location)


# ---- the format before PyTorch 1.6 --------------------------------------------------------------


def _load_legacy(file, label: str, place: _Placement, trust: bool):
    """Pickles one after the other (magic, version, system, object, keys), then the storages."""

    def no_storage(pid):
        raise refuse("a storage outside the object")

    try:
        magic = RestrictedUnpickler(file, {}, {}, no_storage).load()
    except pickle.UnpicklingError:
        magic = None
    if magic != _LEGACY_MAGIC:
        raise pickle.UnpicklingError(
            f"load: {label} is neither a zip archive of torch.save nor its older format; "
            "it is damaged or another kind of file"
        )
    version = RestrictedUnpickler(file, {}, {}, no_storage).load()
    if version != _LEGACY_PROTOCOL:
        raise RuntimeError(f"load: Invalid protocol version: {version}")
    system = RestrictedUnpickler(file, {}, {}, no_storage).load()
    little = not isinstance(system, dict) or system.get("little_endian", True)
    loaded: dict[str, tuple[LoadedStorage, object]] = {}

    def persistent_load(pid):
        kind, key, location, count, view = _storage_id(pid, 6)
        if key not in loaded:
            storage = None
            if place.reads(location):
                storage = place.place(_legacy_storage(file, count * kind.itemsize), location)
            loaded[key] = (LoadedStorage(storage, kind), count)
        if view is not None:
            raise refuse("a view of a storage, which only files before PyTorch 0.4 have")
        return loaded[key][0]

    result = _unpickle(file, trust, persistent_load)
    keys = RestrictedUnpickler(file, {}, {}, no_storage).load()
    if not isinstance(keys, list) or any(k not in loaded for k in keys):
        raise refuse("storages that no tensor names")
    for key in keys:
        found, count = loaded[key]
        _fill_legacy(file, label, found, count)
        if little != (sys.byteorder == "little") and found.untyped is not None:
            _swap_bytes(found.untyped, _swap_unit(found.kind))
    return result


def _legacy_storage(file, nbytes: int):
    position = file.tell()
    left = file.seek(0, os.SEEK_END) - position
    file.seek(position)
    if nbytes > left:
        raise refuse(f"a storage of {nbytes} bytes, {left} bytes of the file are left")
    return _C.UntypedStorage(nbytes)


def _fill_legacy(file, label: str, found: LoadedStorage, count) -> None:
    head = file.read(8)
    if len(head) != 8 or struct.unpack("<q", head)[0] != count:
        raise RuntimeError(f"load: cannot read {label}: the length of a storage does not match")
    if found.untyped is None:
        file.seek(count * found.kind.itemsize, os.SEEK_CUR)
        return
    target = memoryview(found.untyped)
    done = 0
    while done < target.nbytes:
        data = file.read(min(target.nbytes - done, 1 << 22))
        if not data:
            raise RuntimeError(f"load: cannot read {label}: it ends within a storage")
        target[done : done + len(data)] = data
        done += len(data)
