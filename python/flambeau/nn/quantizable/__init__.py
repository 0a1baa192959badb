"""Layers of integers under their old names."""

from __future__ import annotations

from flambeau.ao.nn.quantizable import *
from flambeau.ao.nn.quantizable import __all__ as __all__
