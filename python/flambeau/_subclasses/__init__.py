"""Tensors without data for the compiler; the device meta serves."""

from __future__ import annotations

import importlib

from .fake_tensor import FakeTensor, FakeTensorMode  # type: ignore[attr-defined]

__all__ = ["FakeTensor", "FakeTensorMode"]


_MODULES = {"fake_tensor", "functional_tensor"}


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
