"""How a tensor is spread."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "sharded training",
    classes=(
        "ChunkShardingSpec DevicePlacementSpec EnumerableShardingSpec PlacementSpec"
        " ShardMetadata ShardingSpec"
    ),
)
