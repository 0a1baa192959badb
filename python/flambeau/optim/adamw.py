"""AdamW under the module name that PyTorch gives it."""

from .adam import AdamW

__all__ = ["AdamW"]
