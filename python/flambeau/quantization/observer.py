"""The names of `flambeau.ao.quantization.observer` under their older name."""

from flambeau.ao.quantization.observer import *
from flambeau.ao.quantization.observer import __all__ as __all__
