"""Data parallel training in place."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "training on several processes",
    functions="replicate",
)
