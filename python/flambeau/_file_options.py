"""Options of `save` and `load`: what `utils.serialization.config` shows."""

from __future__ import annotations

import contextlib
import sys
from typing import Any


class Section:
    """A group of options. Names that it lacks cannot be set."""

    def __init__(self, name: str, **options) -> None:
        self.__dict__.update(options)
        self.__dict__["_name"] = name

    def __setattr__(self, name: str, value) -> None:
        if name not in self.__dict__ or name == "_name":
            raise AttributeError(
                f"torch.utils.serialization.config.{self._name}.{name} does not exist"
            )
        self.__dict__[name] = value


load: Any = Section(
    "load",
    mmap=False,
    endianness=None,
    mmap_flags=None if sys.platform == "win32" else 2,  # mmap.MAP_PRIVATE
    calculate_storage_offsets=False,
)
save: Any = Section(
    "save", compute_crc32=True, use_pinned_memory_for_d2h=False, storage_alignment=64
)
_SECTIONS = {"load": load, "save": save}


def options() -> dict[str, object]:
    """All options by name, ``load.mmap`` and its like."""
    return {
        f"{name}.{option}": value
        for name, section in _SECTIONS.items()
        for option, value in vars(section).items()
        if option != "_name"
    }


def set_options(values: dict[str, object]) -> None:
    """Sets options by name."""
    for name, value in values.items():
        section, _, option = name.partition(".")
        if section not in _SECTIONS:
            raise AttributeError(f"torch.utils.serialization.config.{name} does not exist")
        setattr(_SECTIONS[section], option, value)


@contextlib.contextmanager
def patch(arg=None, value=None, **changes):
    """Other options for the length of a ``with`` block or of calls of the function it decorates.

    Args:
        arg: a name with ``value``, or a dict of names and values.
        **changes: names and values.
    """
    if isinstance(arg, dict):
        changes = {**arg, **changes}
    elif arg is not None:
        changes[arg] = value
    before = options()
    set_options(changes)
    try:
        yield
    finally:
        set_options({name: before[name] for name in changes})
