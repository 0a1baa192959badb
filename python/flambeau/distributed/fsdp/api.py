"""The choices under their old module."""

from __future__ import annotations

from .fully_sharded_data_parallel import *  # noqa: F403
from .fully_sharded_data_parallel import __all__ as __all__
