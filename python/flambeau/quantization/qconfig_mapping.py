"""The names of `flambeau.ao.quantization.qconfig_mapping` under their older name."""

from flambeau.ao.quantization.qconfig_mapping import *
from flambeau.ao.quantization.qconfig_mapping import __all__ as __all__
