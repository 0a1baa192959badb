"""Saving and loading in PyTorch's file formats, without running what a file says.

`_save` and `_load` hold the two functions, `_archive` the zip container, `_legacy` the format
before it, `_restricted` the unpickler, `_rebuild` makes tensors, `_names` has PyTorch's names,
`_safe` the user's allow-list, `_location` the devices, `_options` the settings. `safetensors` is
another format.
"""

from collections.abc import Callable

from flambeau._C import UntypedStorage, device

from ._load import load
from ._location import (
    default_restore_location,
    location_tag,
    normalize_storage_type,
    register_package,
    storage_to_tensor_type,
    validate_cuda_device,
    validate_hpu_device,
)
from ._names import StorageType
from ._options import (
    LoadEndianness,
    SourceChangeWarning,
    check_module_version_greater_or_equal,
    get_crc32_options,
    get_default_load_endianness,
    get_default_mmap_options,
    set_crc32_options,
    set_default_load_endianness,
    set_default_mmap_options,
    skip_data,
)
from ._rebuild import _layout as _get_layout
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
DEFAULT_PROTOCOL = 2

__all__ = [
    "LoadEndianness",
    "SourceChangeWarning",
    "StorageType",
    "add_safe_globals",
    "check_module_version_greater_or_equal",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "normalize_storage_type",
    "register_package",
    "safe_globals",
    "save",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
    "storage_to_tensor_type",
    "validate_cuda_device",
    "validate_hpu_device",
]
