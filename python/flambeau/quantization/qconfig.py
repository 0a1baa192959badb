"""The names of `flambeau.ao.quantization.qconfig` under their older name."""

from flambeau.ao.quantization.qconfig import *
from flambeau.ao.quantization.qconfig import __all__ as __all__
