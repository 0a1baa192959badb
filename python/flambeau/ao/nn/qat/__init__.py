"""Layers that learn to be integers."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "quantization",
    classes="Conv1d Conv2d Conv3d Embedding EmbeddingBag Linear",
)
