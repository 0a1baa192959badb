"""The marks of functions and tensors under PyTorch's module."""

from __future__ import annotations

from ._marks import *  # noqa: F403
