"""Optimizers whose state is spread over processes."""

from __future__ import annotations

from . import ZeroRedundancyOptimizer

__all__ = ["ZeroRedundancyOptimizer"]
