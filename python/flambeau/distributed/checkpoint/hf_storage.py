"""Checkpoints of several processes in safetensors files."""

from __future__ import annotations

from . import HuggingFaceStorageReader, HuggingFaceStorageWriter

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]
