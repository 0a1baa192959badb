"""Checkpoints in folders."""

from __future__ import annotations

from . import FileSystemReader, FileSystemWriter

__all__ = ["FileSystemReader", "FileSystemWriter"]
