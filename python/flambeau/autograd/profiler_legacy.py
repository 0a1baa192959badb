"""The profiler under its oldest name."""

from __future__ import annotations

from .profiler import profile

__all__ = ["profile"]
