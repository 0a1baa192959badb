"""Channels taken in turn from each of several groups."""

from __future__ import annotations

from flambeau.nn import functional as F

from .module import Module

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Module):
    """Channels (dimension 1) taken in turn from each of the groups."""

    __constants__ = ["groups"]

    def __init__(self, groups) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input):
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
