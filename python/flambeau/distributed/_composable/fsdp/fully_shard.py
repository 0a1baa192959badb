"""`fully_shard` under its old module."""

from __future__ import annotations

from flambeau.distributed.fsdp._fully_shard import *  # noqa: F403
