"""Layers of integers under their old names."""

from __future__ import annotations

from flambeau.ao.nn.intrinsic import *
from flambeau.ao.nn.intrinsic import __all__ as __all__
