"""Classes and functions that the user lets `load(weights_only=True)` use."""

from __future__ import annotations

import pickletools

from ._archive import ArchiveReader
from ._names import plain_globals, to_torch
from ._rebuild import REBUILD

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


def get_unsafe_globals_in_checkpoint(f) -> list[str]:
    """Names that the file `f` (zip format) uses and that `load` would refuse now."""
    file = open(f, "rb") if isinstance(f, str) or hasattr(f, "__fspath__") else f
    try:
        data = ArchiveReader(file, "the file").read("data.pkl")
    finally:
        if file is not f:
            file.close()
    extra = {"_codecs.encode", "builtins.bytearray", "__builtin__.bytearray"}
    allowed = {*plain_globals(), *REBUILD, *trusted_globals(), *extra}
    found: list[str] = []
    texts: list[str] = []
    for opcode, argument, _ in pickletools.genops(data):
        if isinstance(argument, str):
            texts.append(argument)
        if opcode.name == "GLOBAL":
            name = str(argument).replace(" ", ".", 1)
        elif opcode.name == "STACK_GLOBAL" and len(texts) >= 2:
            name = ".".join(texts[-2:])
        else:
            continue
        if name not in allowed and name not in found:
            found.append(name)
    return found
