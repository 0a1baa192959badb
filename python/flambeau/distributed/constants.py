"""Constants."""

from __future__ import annotations

from datetime import timedelta

default_pg_timeout = timedelta(seconds=1800)
default_pg_nccl_timeout = None

__all__ = ["default_pg_nccl_timeout", "default_pg_timeout"]
