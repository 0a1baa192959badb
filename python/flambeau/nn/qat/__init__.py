"""Layers of integers under their old names."""

from __future__ import annotations

from flambeau.ao.nn.qat import *
from flambeau.ao.nn.qat import __all__ as __all__
