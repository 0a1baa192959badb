"""Saving and loading in PyTorch's file format, without running what a file says.

`_save` and `_load` hold the two functions, `_archive` the zip container, `_restricted` the
unpickler, `_rebuild` makes tensors, `_names` has PyTorch's names, `_safe` the user's allow-list.
"""

from collections.abc import Callable

from flambeau._C import UntypedStorage, device

from ._load import load
from ._safe import (
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    get_unsafe_globals_in_checkpoint,
    safe_globals,
)
from ._save import save

# for annotations: what `load` takes as `map_location`
MAP_LOCATION = (
    Callable[[UntypedStorage, str], UntypedStorage] | device | str | dict[str, str] | None
)

__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "safe_globals",
    "save",
]
