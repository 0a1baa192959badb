"""`_pytree` under the name of PyTorch's variant over the library optree."""

from __future__ import annotations

from ._pytree import *  # noqa: F403
