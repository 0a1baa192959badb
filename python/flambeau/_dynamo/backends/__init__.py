"""Backends of `torch.compile` by name."""

from __future__ import annotations
