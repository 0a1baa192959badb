"""`flambeau.storage`: the memory of tensors."""

from __future__ import annotations

import io

import flambeau

from ._storage import LEGACY, TypedStorage
from ._storage import _LegacyStorage as _LegacyStorage
from ._untyped import UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]

globals().update(LEGACY)
Storage = TypedStorage | UntypedStorage


def _load_from_bytes(data):
    """The storage in a plain pickle of PyTorch's: a file of `torch.save` in the old format."""
    return flambeau.load(io.BytesIO(data), weights_only=False)
