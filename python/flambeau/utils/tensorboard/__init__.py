"""Logs for TensorBoard, written by the package `tensorboard`."""

from __future__ import annotations

import importlib


def __getattr__(name):
    if name in ("FileWriter", "SummaryWriter"):
        return getattr(importlib.import_module(".writer", __name__), name)
    if name == "writer":
        return importlib.import_module(".writer", __name__)
    raise AttributeError(f"module 'torch.utils.tensorboard' has no attribute '{name}'")


__all__ = ["FileWriter", "SummaryWriter"]
