"""The names of `flambeau.ao.quantization.fuse_modules` under their older name."""

from flambeau.ao.quantization.fuse_modules import *
from flambeau.ao.quantization.fuse_modules import __all__ as __all__
