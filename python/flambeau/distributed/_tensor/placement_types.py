"""Placements under their old module."""

from __future__ import annotations

from flambeau.distributed.tensor.placement_types import *  # noqa: F403
from flambeau.distributed.tensor.placement_types import __all__ as __all__
