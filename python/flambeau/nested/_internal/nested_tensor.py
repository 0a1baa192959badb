"""Nested tensors."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "nested tensors",
    classes="NestedTensor",
    functions="nested_from_padded nested_view_from_values_offsets",
)
