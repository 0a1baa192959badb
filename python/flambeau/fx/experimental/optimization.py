"""Faster graphs."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "graphs of programs (torch.fx)",
    functions="fuse optimize_for_inference remove_dropout",
)
