"""Sharding of a module's parameters in place."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "sharded training",
    classes=(
        "CPUOffloadPolicy DataParallelMeshDims FSDPModule MixedPrecisionPolicy"
        " OffloadPolicy UnshardHandle"
    ),
    functions="fully_shard register_fsdp_forward_method share_comm_ctx",
)
