"""Operators of ONNX."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "export to ONNX",
    functions="attention rotary_embedding symbolic symbolic_multi_out",
)
