"""Types in TorchScript."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "TorchScript",
    functions="ann_to_type get_signature try_ann_to_type",
)
