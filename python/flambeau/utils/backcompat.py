"""Warnings about what changed in PyTorch's first years: switches that are kept."""

from __future__ import annotations


class Warning:
    """A switch."""

    def __init__(self):
        self.enabled = False


broadcast_warning = Warning()
keepdim_warning = Warning()

__all__ = ["Warning", "broadcast_warning", "keepdim_warning"]
