"""Forms of training that change modules in place."""

from __future__ import annotations

from flambeau._absent import declare

from .fsdp import fully_shard as fully_shard

declare(
    globals(),
    "training on several processes",
    functions="checkpoint contract replicate",
)
