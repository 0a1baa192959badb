"""`torch.ao.quantization` under its old name."""

from __future__ import annotations

import importlib

from flambeau.ao.quantization import *
from flambeau.ao.quantization import __all__ as __all__

_MODULES = {
    "fake_quantize",
    "fuse_modules",
    "observer",
    "qconfig",
    "qconfig_mapping",
    "quantize",
    "stubs",
}


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
