"""What a checkpoint holds."""

from __future__ import annotations

from flambeau._absent import declare

from . import BytesStorageMetadata, ChunkStorageMetadata, Metadata, TensorStorageMetadata

__all__ = [
    "BytesStorageMetadata",
    "ChunkStorageMetadata",
    "Metadata",
    "TensorStorageMetadata",
]

declare(
    globals(),
    "checkpoints of several processes",
    classes="MetadataIndex TensorProperties",
)
