"""Layers of integers."""

from __future__ import annotations

import importlib

from flambeau._absent import declare

declare(
    globals(),
    "quantization",
    classes=(
        "BatchNorm2d Conv1d Conv2d Conv3d Embedding EmbeddingBag FloatFunctional"
        " FXFloatFunctional LayerNorm LeakyReLU Linear LSTM QFunctional Quantize"
        " DeQuantize ReLU6"
    ),
)

_MODULES = {"dynamic"}


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
