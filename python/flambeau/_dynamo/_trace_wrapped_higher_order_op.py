"""Indexing with tensors under vmap, of which a compiler needs to be told."""

from __future__ import annotations


class TransformGetItemToIndex:
    """Context manager: indices that are tensors of one element index as tensors, as here always."""

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False
