"""Parameters that gather a gradient per sample."""

from .expanded_weights_impl import ExpandedWeight

__all__ = ["ExpandedWeight"]
