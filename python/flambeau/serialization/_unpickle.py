"""The two unpicklers of `load` behind one function, and what persistent ids must look like."""

from __future__ import annotations

import pickle
from typing import Any

from flambeau._storage import LEGACY, TypedStorage
from flambeau._untyped import UntypedStorage

from ._names import STORAGE_TYPES, StorageType, import_global, plain_globals
from ._rebuild import REBUILD
from ._restricted import GlobalRef, RestrictedUnpickler, refuse, shown
from ._safe import trusted_globals


class Reading:
    """How a pickle is read.

    Args:
        trust: True unpickles anything.
        module: module whose `Unpickler` to use; `pickle` itself where None.
        options: keyword arguments for it, such as ``encoding``.
    """

    def __init__(self, trust: bool, module=None, options: dict | None = None) -> None:
        self.trust = trust
        self._module = module or pickle
        self._options = {"encoding": "utf-8", **(options or {})}

    def unpickle(self, file, persistent_load):
        """The object of the pickle at the position of `file`."""
        if self.trust:
            kind = _trusting(self._module.Unpickler)
            return kind(file, persistent_load, self._options).load()
        return RestrictedUnpickler(file, allowed(), trusted_globals(), persistent_load).load()


def _trusting(base: Any):
    class TrustingUnpickler(base):
        def __init__(self, file, persistent_load, options) -> None:
            super().__init__(file, **options)
            self._load_storage = persistent_load

        def persistent_load(self, pid):
            return self._load_storage(pid)

        def find_class(self, module: str, name: str):
            full = f"{module}.{name}"
            if full in REBUILD:
                return REBUILD[full].call
            if full in STORAGE_TYPES:
                return STORAGE_TYPES[full]
            if module == "torch" or module.startswith("torch."):
                return import_global(module, name)
            return super().find_class(module, name)

    return TrustingUnpickler


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


def allowed() -> dict[str, object]:
    """The globals that every restricted load may use, by name."""
    return {
        **plain_globals(),
        **REBUILD,
        "_codecs.encode": GlobalRef(_encode),
        "builtins.bytearray": GlobalRef(_bytearray),
        "__builtin__.bytearray": GlobalRef(_bytearray),
    }


def storage_id(pid, length: int) -> tuple:
    """(StorageType, key, location, number of elements, …) of a persistent id."""
    if not isinstance(pid, tuple) or len(pid) != length or _text(pid[0]) != "storage":
        raise refuse("an unknown persistent id")
    kind, key, location, count = pid[1:5]
    if isinstance(kind, type) and kind.__name__ in LEGACY:  # a trusted file's, of another unpickler
        kind = StorageType(kind.__name__)
    key, location = _text(key), _text(location)
    if not isinstance(kind, StorageType) or key is None or location is None:
        raise refuse("an invalid persistent id")
    if type(count) is not int or not 0 <= count < 1 << 60:
        raise refuse(f"a storage of {shown(count)} elements")
    return kind, key, location, count, *pid[5:]


def _text(value) -> str | None:
    if isinstance(value, bytes):  # Python 2's, read with encoding="bytes"
        value = value.decode("latin1")
    return value if isinstance(value, str) else None


def with_kind(untyped, kind: StorageType):
    """An untyped storage as the storage that the file means."""
    if kind.dtype is None:
        return untyped
    return TypedStorage(wrap_storage=untyped, dtype=kind.dtype, _internal=True)


def swap_unit(kind: StorageType) -> int:
    """The bytes that another byte order reverses."""
    dtype = kind.dtype
    return 1 if dtype is None else dtype.itemsize // (2 if dtype.is_complex else 1)


def meta_storage(nbytes: int):
    """A storage without memory."""
    return UntypedStorage(nbytes, device="meta")
