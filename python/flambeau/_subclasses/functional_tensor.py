"""Tensors without changes in place, for the compiler."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "the compiler",
    classes="FunctionalTensor FunctionalTensorMode",
)
