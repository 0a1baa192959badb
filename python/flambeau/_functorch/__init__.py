"""Parts of function transforms under PyTorch's private names."""

from __future__ import annotations

import importlib

_MODULES = {
    "aot_autograd",
    "apis",
    "config",
    "deprecated",
    "eager_transforms",
    "functional_call",
    "make_functional",
    "partitioners",
    "pyfunctorch",
    "vmap",
}


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
