"""Resizing of images and sequences."""

from __future__ import annotations

from flambeau.nn import functional as F

from .module import Module

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(Module):
    """Resizes to a size or by a factor.

    Args:
        size: of the spatial dimensions of the result.
        scale_factor: ratio of the sizes, instead.
        mode: nearest, linear, bilinear, bicubic or trilinear.
        align_corners: whether the centers of the corner elements keep their place.
        recompute_scale_factor: as `interpolate`.
    """

    __constants__ = [
        "size",
        "scale_factor",
        "mode",
        "align_corners",
        "name",
        "recompute_scale_factor",
    ]

    def __init__(
        self,
        size=None,
        scale_factor=None,
        mode="nearest",
        align_corners=None,
        recompute_scale_factor=None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        self.scale_factor: float | tuple | None
        scale: tuple[float, ...] | float | None = None
        if isinstance(scale_factor, tuple):
            scale = tuple(float(factor) for factor in scale_factor)
        elif scale_factor:
            scale = float(scale_factor)
        self.scale_factor = scale
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input):
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        if self.scale_factor is not None:
            return f"scale_factor={self.scale_factor!r}, mode={self.mode!r}"
        return f"size={self.size!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """`Upsample` with mode nearest."""

    def __init__(self, size=None, scale_factor=None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """`Upsample` with mode bilinear and align_corners."""

    def __init__(self, size=None, scale_factor=None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
