"""The format before PyTorch 1.6: pickles one after the other, then the storages.

The pickles are a magic number, a version, a dict about the machine, the object, and the keys of the
storages in the order in which these follow: the number of elements, then the bytes.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
import tarfile
import warnings

from flambeau import _C
from flambeau._untyped import swap_bytes

from ._location import Placement
from ._options import SourceChangeWarning, data_is_skipped
from ._rebuild import bytes_have_come
from ._restricted import RestrictedUnpickler, refuse, shown
from ._unpickle import Reading, meta_storage, storage_id, swap_unit, with_kind

_MAGIC = 0x1950A86A20F9469CFC6C
_VERSION = 1001


def _no_storage(pid):
    raise refuse("a storage outside the object")


def _plain(file):
    """The next pickle, of plain data."""
    return RestrictedUnpickler(file, {}, {}, _no_storage).load()


class _Root:
    """A storage of the file and what is needed to fill it."""

    def __init__(self, untyped, kind, count: int) -> None:
        self.untyped = untyped
        self.kind = kind
        self.count = count
        self._typed = {kind: with_kind(untyped, kind)}

    def typed(self, kind):
        """The storage with the dtype of `kind`."""
        if kind not in self._typed:
            self._typed[kind] = with_kind(self.untyped, kind)
        return self._typed[kind]

    def complete(self, swap: bool) -> None:
        """Once it has its bytes."""
        if self.untyped.device.type != "meta":
            if swap:
                swap_bytes(self.untyped, swap_unit(self.kind))
            for storage in self._typed.values():
                bytes_have_come(storage)


def load_legacy(file, label: str, place: Placement, reading: Reading):
    """The object in a file of the old format."""
    _check_header(file, label)
    little = _little_endian(_plain(file))
    left = _bytes_left(file)
    roots: dict[str, _Root] = {}
    views: dict[str, object] = {}

    def persistent_load(pid):
        if isinstance(pid, tuple) and len(pid) == 4 and pid[0] == "module":
            return _check_source(*pid[1:])
        kind, key, location, count, view = storage_id(pid, 6)
        nonlocal left
        if key not in roots:
            left -= count * kind.itemsize
            if left < 0:
                raise refuse("storages of more bytes than the file has")
            storage = _new_storage(count * kind.itemsize, place, location)
            roots[key] = _Root(storage, kind, count)
        root = roots[key]
        if view is None:
            return root.typed(kind)
        view_key, start, size = _view(view)
        if view_key not in views:
            views[view_key] = _part(root, start * kind.itemsize, size * kind.itemsize, kind)
        return views[view_key]

    result = reading.unpickle(file, persistent_load)
    keys = _plain(file)
    if not isinstance(keys, list) or any(not isinstance(k, str) or k not in roots for k in keys):
        raise refuse("storages that no tensor names")
    if len(set(keys)) != len(keys):
        raise refuse("a storage twice")
    for key in keys:
        _fill(file, label, roots[key])
        roots[key].complete(little != (sys.byteorder == "little"))
    if len(keys) != len(roots):
        raise RuntimeError(f"load: cannot read {label}: it lacks the bytes of some storages")
    return result


def _check_header(file, label: str) -> None:
    start = file.tell()
    try:
        magic = _plain(file)
    except pickle.UnpicklingError:
        magic = None
    if type(magic) is not int or magic != _MAGIC:
        file.seek(start)
        if _is_tar(file):
            raise RuntimeError(
                f"load: {label} is a tar archive, the format of PyTorch 0.1.10 and older, which is "
                "not read; load it there or in PyTorch with weights_only=False, and save it again"
            )
        raise pickle.UnpicklingError(
            f"load: {label} is neither a zip archive of torch.save nor its older format; "
            "it is damaged or another kind of file"
        )
    version = _plain(file)
    if type(version) is not int or version != _VERSION:
        raise RuntimeError(f"load: Invalid protocol version: {shown(version)}")


def _is_tar(file) -> bool:
    head = file.read(512)
    try:
        tarfile.TarInfo.frombuf(head, "utf-8", "surrogateescape")
    except (tarfile.TarError, ValueError):
        return False
    return True


def _little_endian(system) -> bool:
    return not isinstance(system, dict) or system.get("little_endian", True) is not False


def _bytes_left(file) -> int:
    position = file.tell()
    left = file.seek(0, os.SEEK_END) - position
    file.seek(position)
    return left


def _new_storage(nbytes: int, place: Placement, location: str):
    on_meta = not place.reads(location) and not data_is_skipped()
    storage = meta_storage(nbytes) if on_meta else _C.UntypedStorage(nbytes)
    return place.place(storage, location)


def _view(view) -> tuple[str, int, int]:
    """(key, first element, number of elements) of a part of a storage."""
    if not isinstance(view, tuple) or len(view) != 3:
        raise refuse("a view of a storage without its place")
    key, start, size = view
    if not isinstance(key, str) or any(
        type(n) is not int or not 0 <= n < 1 << 58 for n in view[1:]
    ):
        raise refuse("a view of a storage without its place")
    return key, start, size


def _part(root: _Root, start: int, nbytes: int, kind):
    total = root.untyped.nbytes()
    if start + nbytes > total:
        raise refuse(f"bytes {start} to {start + nbytes} of a storage of {total} bytes")
    if root.untyped.device.type == "meta":
        return with_kind(meta_storage(nbytes), kind)
    return with_kind(root.untyped[start : start + nbytes], kind)


def _fill(file, label: str, root: _Root) -> None:
    head = file.read(8)
    if len(head) != 8 or struct.unpack("<q", head)[0] != root.count:
        raise RuntimeError(f"load: cannot read {label}: the length of a storage does not match")
    if root.untyped.device.type == "meta" or data_is_skipped():
        file.seek(root.count * root.kind.itemsize, os.SEEK_CUR)
        return
    target = memoryview(root.untyped)
    done = 0
    while done < target.nbytes:
        data = file.read(min(target.nbytes - done, 1 << 22))
        if not data:
            raise RuntimeError(f"load: cannot read {label}: it ends within a storage")
        target[done : done + len(data)] = data
        done += len(data)


def _check_source(kind, source_file, source):
    """A module's class, with which old files hold its source."""
    if isinstance(kind, type) and not kind.__module__.startswith("flambeau"):
        import inspect

        try:
            current = inspect.getsource(kind)
        except (OSError, TypeError):
            current = None
        if current is not None and current != source:
            warnings.warn(
                f"the source code of class '{kind.__module__}.{kind.__qualname__}' has changed "
                f"since the file was written (then in {shown(source_file)})",
                SourceChangeWarning,
                stacklevel=2,
            )
    return kind


# ---- writing ------------------------------------------------------------------------------------


def write_legacy(file, data: bytes, storages: list, protocol: int) -> None:
    """Writes the pickle `data` of an object and its storages."""
    system = {
        "protocol_version": _VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }
    for head in (_MAGIC, _VERSION, system):
        pickle.dump(head, file, protocol)
    file.write(data)
    pickle.dump([s.key for s in storages], file, protocol)
    for storage in storages:
        part = storage.kept()
        file.write(struct.pack("<q", part.nbytes // storage.itemsize))
        file.write(part)
    if hasattr(file, "flush"):
        file.flush()
