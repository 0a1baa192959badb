"""Rules of operators for ONNX."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "export to ONNX",
    functions="unused",
)
