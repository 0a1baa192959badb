"""Options of `save` and `load`, in the groups `load` and `save`.

Example:
    >>> from flambeau.utils.serialization import config
    >>> with config.patch("save.storage_alignment", 4096):
    ...     config.save.storage_alignment
    4096
"""

from flambeau._file_options import load, options, patch, save, set_options

get_config_copy = shallow_copy_dict = save_config_portable = options
load_config = set_options

__all__ = ["get_config_copy", "load", "load_config", "patch", "save", "save_config_portable"]
