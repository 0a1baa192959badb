"""The names of `flambeau.ao.quantization.stubs` under their older name."""

from flambeau.ao.quantization.stubs import *
from flambeau.ao.quantization.stubs import __all__ as __all__
