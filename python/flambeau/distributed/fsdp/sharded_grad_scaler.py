"""Loss scaling of sharded training."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "sharded training",
    classes="ShardedGradScaler",
)
