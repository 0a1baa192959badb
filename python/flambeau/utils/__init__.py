"""Helpers beside the tensor library: data loading, checkpoints, pytrees and hook handles.

The modules load on first use, so that `import flambeau` does not pay for them.
"""

import importlib

_LAZY_MODULES = {"_device", "_pytree", "checkpoint", "data", "dlpack", "hooks"}


def __getattr__(name):
    if name in _LAZY_MODULES:
        return importlib.import_module("." + name, __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
