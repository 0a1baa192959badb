"""The memory format of convolutions' weights."""

from __future__ import annotations

from typing import TypeVar

from flambeau import _C
from flambeau.nn.modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from flambeau.nn.modules.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]

_M = TypeVar("_M", bound=Module)


def _convert(module, kinds, memory_format):
    for layer in module.modules():
        if isinstance(layer, kinds):
            layer.weight.data = layer.weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: _M, memory_format: _C.memory_format) -> _M:
    """Puts the weights of `Conv2d` and `ConvTranspose2d` in and below module into a format.

    >>> layer = convert_conv2d_weight_memory_format(nn.Conv2d(2, 3, 2), flambeau.channels_last)
    >>> layer.weight.stride()
    (8, 1, 4, 2)
    """
    return _convert(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: _M, memory_format: _C.memory_format) -> _M:
    """Puts the weights of `Conv3d` and `ConvTranspose3d` in and below module into a format."""
    return _convert(module, (Conv3d, ConvTranspose3d), memory_format)
