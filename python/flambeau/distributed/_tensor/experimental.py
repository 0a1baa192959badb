"""Trials under their old module."""

from __future__ import annotations

from flambeau.distributed.tensor.experimental import *  # noqa: F403
from flambeau.distributed.tensor.experimental import __all__ as __all__
