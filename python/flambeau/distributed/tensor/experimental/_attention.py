"""Attention over a spread sequence."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "tensors spread over processes",
    functions="context_parallel context_parallel_unshard set_rotate_method",
)
