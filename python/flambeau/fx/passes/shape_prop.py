"""Shapes in graphs."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "graphs of programs (torch.fx)",
    classes="ShapeProp TensorMetadata",
)
