"""Placement of processes on processors with memory of their own."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class AffinityMode(enum.Enum):
    """What a process is bound to."""

    NODE = "node"
    SOCKET = "socket"
    EXCLUSIVE = "exclusive"
    CORE_COMPLEX = "core-complex"


@dataclass(frozen=True)
class NumaOptions:
    """How launched processes are bound: launching is not built yet."""

    affinity_mode: AffinityMode
    should_fall_back_if_binding_fails: bool = False


__all__ = ["AffinityMode", "NumaOptions"]
