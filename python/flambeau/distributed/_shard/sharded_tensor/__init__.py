"""Tensors spread over processes, before DTensor."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "sharded training",
    classes="Shard ShardedTensor ShardedTensorMetadata TensorProperties",
    functions="empty init_from_local_shards ones rand zeros",
)
