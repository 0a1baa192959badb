"""`load`: files of `save` and `torch.save`, the zip format and the one before PyTorch 1.6.

With `weights_only` (the default) the pickle goes through the restricted unpickler; without, through
Python's, with PyTorch's names standing for ours.
"""

from __future__ import annotations

import io
import mmap as _mmap
import os
import sys

from flambeau import _C, _file_options
from flambeau._untyped import swap_bytes

from ._archive import ArchiveReader
from ._legacy import load_legacy
from ._location import Placement
from ._options import MAP_SHARED, data_is_skipped, default_byte_order, weights_only_of
from ._unpickle import Reading, meta_storage, storage_id, swap_unit, with_kind


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
        pickle_module: module with an `Unpickler` for files that need another than `pickle`'s;
            such a load is never restricted.
        weights_only: True (the default) reads tensors, plain containers and numbers, and whatever
            `add_safe_globals` names, and never runs code. False unpickles anything, which can run
            any code: only for files that you trust. The environment variables
            TORCH_FORCE_WEIGHTS_ONLY_LOAD and TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD come first.
        mmap: map the file into memory and read parts of it on use, unchecked; writes stay private
            (see `set_default_mmap_options`).
        **pickle_load_args: for the `Unpickler`, as ``encoding="latin1"``; with weights_only=False.

    Raises:
        pickle.UnpicklingError: the file holds something that `weights_only` refuses.
        RuntimeError: the file is cut off or damaged (each record's CRC is verified).
        EOFError: the file is empty.

    Example: see `save`.
    """
    reading = Reading(
        not weights_only_of(weights_only, pickle_module), pickle_module, pickle_load_args
    )
    mmap = _file_options.load.mmap if mmap is None else mmap
    place = Placement(map_location)
    if isinstance(f, str | os.PathLike):
        shared = mmap and _file_options.load.mmap_flags == MAP_SHARED
        with open(f, "r+b" if shared else "rb") as file:
            return _load_file(file, f"'{os.fspath(f)}'", place, reading, mmap)
    if not all(hasattr(f, name) for name in ("read", "readline", "seek", "tell")):
        raise AttributeError(
            "load: expected 'f' to be a path or a file object with 'read', 'readline', 'tell' and "
            f"'seek', got {type(f).__name__}; load it into a buffer such as io.BytesIO first"
        )
    if mmap:
        raise ValueError("load: f must be a file path in order to use the mmap argument")
    return _load_file(f, "the file", place, reading, mmap)


def _load_file(file, label: str, place: Placement, reading: Reading, mmap):
    start = file.tell()
    head = file.read(4)
    file.seek(start)
    if not head:
        raise EOFError(f"load: {label} is empty (Ran out of input)")
    if head == b"PK\x03\x04":
        source = file if start == 0 else io.BytesIO(file.read())
        return _load_archive(source, label, place, reading, mmap)
    if mmap:
        raise RuntimeError(
            f"load: mmap can only be used with files in the zip format, {label} has another one"
        )
    return load_legacy(file, label, place, reading)


def _load_archive(file, label: str, place: Placement, reading: Reading, mmap):
    archive = ArchiveReader(file, label)
    _refuse_other_archives(archive)
    order = default_byte_order()
    if "byteorder" in archive:
        order = archive.read("byteorder", 16).decode("ascii", "replace")
        if order not in ("little", "big"):
            raise archive.error(f"unknown byte order {order!r}")
    mapped = _map(file) if mmap and not data_is_skipped() else None
    loaded: dict[tuple, object] = {}

    def persistent_load(pid):
        kind, key, location, count = storage_id(pid, 5)
        if (key, None) not in loaded:
            storage = _read_storage(archive, key, count * kind.itemsize, place, location, mapped)
            if order != sys.byteorder and storage.device.type != "meta":
                swap_bytes(storage, swap_unit(kind))
            loaded[key, None] = storage
        found = (key, kind.name)
        if found not in loaded:
            loaded[found] = with_kind(loaded[key, None], kind)
        return loaded[found]

    return reading.unpickle(io.BytesIO(archive.read("data.pkl")), persistent_load)


def _refuse_other_archives(archive: ArchiveReader) -> None:
    if "constants.pkl" in archive:
        raise RuntimeError(f"load: {archive.label} is a TorchScript archive; use flambeau.jit.load")
    if "data.pkl" not in archive and (
        ".data/extern_modules" in archive or ".data/python_version" in archive
    ):
        raise RuntimeError(
            f"load: {archive.label} is a torch.package archive; use "
            "flambeau.package.PackageImporter(path).load_pickle(package, resource)"
        )


def _map(file) -> memoryview:
    shared = _file_options.load.mmap_flags == MAP_SHARED
    access = _mmap.ACCESS_WRITE if shared else _mmap.ACCESS_COPY
    return memoryview(_mmap.mmap(file.fileno(), 0, access=access))


def _read_storage(
    archive: ArchiveReader, key: str, nbytes: int, place: Placement, location: str, mapped
):
    name = f"data/{key}"
    size = archive.size(name)
    if size < nbytes:
        raise archive.error(f"the record '{name[:80]}' has {size} bytes, {nbytes} are expected")
    if not place.reads(location):
        storage = _C.UntypedStorage(size) if data_is_skipped() else meta_storage(size)
        return place.place(storage, location)
    start = 1
    if archive.is_stored(name):
        start, size = archive.locate(name)
    # Elements at odd positions need a copy, as do compressed ones.
    if mapped is not None and size and start % 16 == 0:
        storage = _C._from_buffer(mapped[start : start + size]).untyped_storage()
    else:
        storage = _C.UntypedStorage(size)
        archive.read_into(name, memoryview(storage))
    return place.place(storage, location)
