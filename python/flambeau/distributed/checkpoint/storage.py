"""Where checkpoints lie."""

from __future__ import annotations

from flambeau._absent import declare

from . import StorageReader, StorageWriter

__all__ = ["StorageReader", "StorageWriter"]

declare(
    globals(),
    "checkpoints of several processes",
    classes="WriteResult",
)
