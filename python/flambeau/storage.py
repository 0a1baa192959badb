"""`flambeau.storage`: the memory of tensors."""

from __future__ import annotations

import io

import flambeau

from ._C import UntypedStorage

__all__ = ["UntypedStorage"]


def _load_from_bytes(data):
    """The storage in a plain pickle of PyTorch's: a file of `torch.save` in the old format."""
    return flambeau.load(io.BytesIO(data))
