"""Classes and functions that the user lets `load(weights_only=True)` use."""

from __future__ import annotations

import io

from ._archive import ArchiveReader
from ._names import to_torch
from ._restricted import RestrictedUnpickler

_trusted: list = []


def _name(item) -> str:
    """What a file calls `item`: an object, or a pair of it and its name in files."""
    if isinstance(item, tuple):
        return item[1]
    return f"{to_torch(item.__module__, item.__qualname__)}.{item.__qualname__}"


def trusted_globals() -> dict[str, object]:
    return {_name(item): item[0] if isinstance(item, tuple) else item for item in _trusted}


def add_safe_globals(safe_globals: list) -> None:
    """Lets `load` with ``weights_only=True`` use these classes and functions.

    Args:
        safe_globals: classes and functions, or pairs of one and its full name in files. Loading
            calls them with whatever the file says: add only what you trust with that.
    """
    for item in safe_globals:
        if not any(item == known for known in _trusted):
            _trusted.append(item)


def get_safe_globals() -> list:
    """What `add_safe_globals` has added."""
    return list(_trusted)


def clear_safe_globals() -> None:
    """Takes back everything that `add_safe_globals` has added."""
    _trusted.clear()


class safe_globals:
    """`add_safe_globals` for the length of a ``with`` block."""

    def __init__(self, safe_globals: list) -> None:
        self._items = list(safe_globals)

    def __enter__(self) -> None:
        self._before = get_safe_globals()
        add_safe_globals(self._items)

    def __exit__(self, *exc) -> None:
        _trusted[:] = self._before


class _Stand:
    """Stands for whatever the pickle would build."""

    def __getattr__(self, name):
        return _Stand()


class _Names(RestrictedUnpickler):
    """Follows a pickle and notes the globals that it names; builds nothing."""

    def __init__(self, file) -> None:
        super().__init__(file, {}, {}, lambda pid: _Stand())
        self.found: list[str] = []

    def _find(self, module: str, name: str) -> None:
        full = f"{module}.{name}"
        if full not in self.found:
            self.found.append(full)
        self._stack.append(_Stand())

    def _call(self, function, args: tuple):
        return _Stand()

    def _new(self, kwargs: dict) -> None:
        self._pop()
        self._stack[-1] = _Stand()

    def _build(self) -> None:
        self._pop()

    def _set_items(self, items: list) -> None:
        if not isinstance(self._stack[-1], _Stand):
            items[::2] = [k if isinstance(k, str | int) else id(k) for k in items[::2]]
            super()._set_items(items)

    def _add_items(self) -> None:
        self._pop_to_mark()

    def _frozenset(self) -> None:
        self._pop_to_mark()
        self._stack.append(frozenset())

    def _top(self, kind):
        return [] if isinstance(self._stack[-1], _Stand) else super()._top(kind)


def get_unsafe_globals_in_checkpoint(f) -> list[str]:
    """Names that the file `f` (zip format) uses and that `load` would refuse now.

    Args:
        f: a path, or a binary file object.
    """
    from ._unpickle import allowed

    file = open(f, "rb") if isinstance(f, str) or hasattr(f, "__fspath__") else f
    try:
        start = file.tell()
        head = file.read(4)
        file.seek(start)
        if head != b"PK\x03\x04":
            raise ValueError(
                "Expected input to be a checkpoint returned by torch.save (zip format)"
            )
        archive = ArchiveReader(file, "the file")
        if "constants.pkl" in archive:
            raise ValueError(
                "Expected input to be a checkpoint returned by torch.save but got TorchScript"
            )
        names = _Names(io.BytesIO(archive.read("data.pkl")))
    finally:
        if file is not f:
            file.close()
    names.load()
    known = {*allowed(), *trusted_globals()}
    return [name for name in names.found if name not in known]
