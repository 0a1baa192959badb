"""The names of `flambeau.ao.quantization.quantize` under their older name."""

from flambeau.ao.quantization.quantize import *
from flambeau.ao.quantization.quantize import __all__ as __all__
