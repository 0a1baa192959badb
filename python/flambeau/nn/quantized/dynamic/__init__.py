"""Layers whose weights are integers, under their old names."""

from __future__ import annotations

from flambeau.ao.nn.quantized.dynamic import *
from flambeau.ao.nn.quantized.dynamic import __all__ as __all__
