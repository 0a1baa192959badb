"""XNNPACK: not in this build."""

from __future__ import annotations

enabled = False
