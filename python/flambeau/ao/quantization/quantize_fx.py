"""Models with integers, by way of graphs."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "quantization",
    functions="convert_fx convert_to_reference_fx fuse_fx prepare_fx prepare_qat_fx",
)
