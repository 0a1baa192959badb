"""`Variable`, the old name of Tensor."""

from __future__ import annotations

from flambeau._C import Tensor as Variable

__all__ = ["Variable"]
