"""Function transforms under PyTorch's private module."""

from __future__ import annotations

from flambeau.func import *  # noqa: F403
from flambeau.func import __all__ as __all__
