"""The names of `flambeau.ao.quantization.fake_quantize` under their older name."""

from flambeau.ao.quantization.fake_quantize import *
from flambeau.ao.quantization.fake_quantize import __all__ as __all__
