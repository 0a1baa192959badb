"""How models are spread."""

from __future__ import annotations

from . import parallelize_module

__all__ = ["parallelize_module"]
