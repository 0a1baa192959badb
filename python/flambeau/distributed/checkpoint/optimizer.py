"""Checkpoints of optimizers."""

from __future__ import annotations

from . import load_sharded_optimizer_state_dict

__all__ = ["load_sharded_optimizer_state_dict"]
