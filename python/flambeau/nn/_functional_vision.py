"""Images: resizing, sampling on a grid, sliding blocks, pixel and channel shuffles."""

from __future__ import annotations

import math
import warnings

from flambeau._C import ops
from flambeau._sampling import (
    PADDING_MODES,
    SAMPLING_MODES,
    affine_grid_generator,
    cubic_weight,
    grid_sampler,
)

from ._functional_common import _pair

_SPATIAL = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}


def pixel_shuffle(input, upscale_factor):
    """(*, C r^2, H, W) rearranged to (*, C, H r, W r)."""
    r = upscale_factor
    if input.dim() < 3:
        raise RuntimeError(
            "pixel_shuffle expects input to have at least 3 dimensions, but got input with "
            f"{input.dim()} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *lead, c, h, w = input.shape
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
            f"of upscale_factor, but input.size(-3)={c} is not divisible by {r * r}"
        )
    n = len(lead)
    x = input.reshape(*lead, c // (r * r), r, r, h, w)
    x = x.permute(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return x.reshape(*lead, c // (r * r), h * r, w * r)


def pixel_unshuffle(input, downscale_factor):
    """(*, C, H r, W r) rearranged to (*, C r^2, H, W)."""
    r = downscale_factor
    if input.dim() < 3:
        raise RuntimeError(
            "pixel_unshuffle expects input to have at least 3 dimensions, but got input with "
            f"{input.dim()} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *lead, c, h, w = input.shape
    for size, name, dim in ((h, "height", -2), (w, "width", -1)):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                f"input.size({dim})={size} is not divisible by {r}"
            )
    n = len(lead)
    x = input.reshape(*lead, c, h // r, r, w // r, r)
    x = x.permute(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return x.reshape(*lead, c * r * r, h // r, w // r)


def channel_shuffle(input, groups):
    """Channels (dimension 1) taken in turn from each of the groups."""
    if input.dim() < 3:
        raise RuntimeError(
            "channel_shuffle expects input with > 2 dims, but got input with sizes "
            f"{list(input.shape)}"
        )
    if groups <= 0:
        raise RuntimeError(
            f"Number of groups to divide channels in must be positive. Value of groups:{groups}"
        )
    c = input.shape[1]
    if c % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups."
        )
    x = input.reshape(input.shape[0], groups, c // groups, *input.shape[2:])
    return x.transpose(1, 2).reshape(input.shape)


native_channel_shuffle = channel_shuffle


# Sliding blocks -----------------------------------------------------------------------------------


def _block_counts(size, kernel, dilation, padding, stride):
    return [
        (size[d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1) // stride[d] + 1
        for d in range(2)
    ]


def _check_positive(**options):
    for name, values in options.items():
        low = 0 if name == "padding" else 1
        if any(v < low for v in values):
            kind = "non-negative" if name == "padding" else "greater than zero"
            raise RuntimeError(f"{name} should be {kind}, but got {name}={values}")


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """The blocks that a window sees, as columns: (N, C, H, W) to (N, C prod(kernel), L).

    >>> F.unfold(flambeau.ones(1, 1, 3, 3), 2).shape
    torch.Size([1, 4, 4])
    """
    kernel, dilation = _pair(kernel_size), _pair(dilation)
    padding, stride = _pair(padding), _pair(stride)
    _check_positive(kernel_size=kernel, dilation=dilation, padding=padding, stride=stride)
    if input.dim() not in (3, 4):
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor for input with possibly 0 batch size and other "
            f"non-zero dimensions, but got: {list(input.shape)}"
        )
    x = input if input.dim() == 4 else input.unsqueeze(0)
    n, c, h, w = x.shape
    counts = _block_counts((h, w), kernel, dilation, padding, stride)
    if min(counts) < 1:
        raise RuntimeError(
            f"Given input with spatial size ({h}, {w}), kernel_size={kernel}, "
            f"dilation={dilation}, padding={padding}, calculated shape of the array of sliding "
            f"blocks as ({counts[0]}, {counts[1]}), but its components must be at least one."
        )
    if x.dtype.is_floating_point:
        x = ops._im2col(x, kernel, dilation, padding, stride)
        return x if input.dim() == 4 else x.squeeze(0)
    if any(padding):
        x = ops.pad(x, [padding[1], padding[1], padding[0], padding[0]], "constant", 0)
    for d in range(2):
        span = dilation[d] * (kernel[d] - 1) + 1
        x = x.unfold(2 + d, span, stride[d])
    x = x[..., :: dilation[0], :: dilation[1]]
    x = x.permute(0, 1, 4, 5, 2, 3)
    x = x.reshape(n, c * kernel[0] * kernel[1], counts[0] * counts[1])
    return x if input.dim() == 4 else x.squeeze(0)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """The inverse of `unfold`; blocks that overlap are added up."""
    size, kernel, dilation = _pair(output_size), _pair(kernel_size), _pair(dilation)
    padding, stride = _pair(padding), _pair(stride)
    _check_positive(kernel_size=kernel, dilation=dilation, padding=padding, stride=stride)
    if input.dim() not in (2, 3):
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
            f"non-zero dimensions for input, but got: {list(input.shape)}"
        )
    x = input if input.dim() == 3 else input.unsqueeze(0)
    n, rows, columns = x.shape
    block = kernel[0] * kernel[1]
    if rows % block:
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={rows} and kernel_size={kernel}."
        )
    counts = _block_counts(size, kernel, dilation, padding, stride)
    if counts[0] * counts[1] != columns or min(counts) < 1:
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, "
            f"padding={padding}, stride={stride}, expected size of input's dimension 2 to match "
            f"the calculated number of sliding blocks {counts[0]} * {counts[1]} = "
            f"{counts[0] * counts[1]}, but got input.size(2)={columns}."
        )
    c = rows // block
    if x.dtype.is_floating_point:
        x = ops._col2im(x, [n, c, *size], kernel, dilation, padding, stride)
        return x if input.dim() == 3 else x.squeeze(0)
    padded = [size[d] + 2 * padding[d] for d in range(2)]
    starts = [ops.arange(counts[d]) * stride[d] for d in range(2)]
    offsets = [ops.arange(kernel[d]) * dilation[d] for d in range(2)]
    y = offsets[0].reshape(-1, 1, 1, 1) + starts[0].reshape(1, 1, -1, 1)
    z = offsets[1].reshape(1, -1, 1, 1) + starts[1].reshape(1, 1, 1, -1)
    index = (y * padded[1] + z).reshape(-1)
    out = x.new_zeros((n, c, padded[0] * padded[1]))
    out = out.index_add(2, index, x.reshape(n, c, block * columns)).reshape(n, c, *padded)
    out = out[:, :, padding[0] : padding[0] + size[0], padding[1] : padding[1] + size[1]]
    out = out.contiguous()
    return out if input.dim() == 3 else out.squeeze(0)


# Resizing -----------------------------------------------------------------------------------------


def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    """Resizes (N, C, ...) to the spatial `size`, or by `scale_factor`.

    Args:
        mode: nearest, nearest-exact, linear, bilinear, bicubic, trilinear or area.
        align_corners: whether the centers of the corner elements keep their place.
        recompute_scale_factor: uses the ratio of the sizes where scale_factor gives a fraction.
        antialias: low-pass filters before shrinking (bilinear and bicubic).

    >>> F.interpolate(flambeau.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    spatial = input.dim() - 2
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | "
                "bilinear | bicubic | trilinear"
            )
    elif mode not in _SPATIAL or _SPATIAL[mode] != spatial:
        raise NotImplementedError(
            "Input Error: Only 3D, 4D and 5D input Tensors supported (got "
            f"{input.dim()}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | "
            f"area | nearest-exact (got {mode})"
        )
    if not 1 <= spatial <= 3:
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.dim()}D)"
        )
    size, scales = _target_size(input, size, scale_factor, recompute_scale_factor)
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ValueError(
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D "
            "tensor as input"
        )
    if mode == "area":
        return getattr(ops, f"adaptive_avg_pool{spatial}d")(input, size)
    if input.dtype.is_floating_point:
        return _resize_by_kernel(input, size, scales, mode, align_corners, antialias)
    # Each dimension on its own: one interpolation is the product of them. Rounded once, at the end.
    out = input if input.dtype.itemsize >= 4 or mode.startswith("nearest") else input.float()
    for d in range(spatial):
        scale = _scale(input.shape[2 + d], size[d], scales[d], align_corners)
        out = _resize(out, 2 + d, size[d], scale, mode, bool(align_corners), antialias)
    return out.to(input.dtype) if out is not input else input.clone()


def _resize_by_kernel(input, size, scales, mode, align_corners, antialias):
    old = input.shape[2:]
    _check_sizes(old, size)
    steps = [_scale(*each, align_corners) for each in zip(old, size, scales)]
    added = 3 - len(size)
    x = input
    for _ in range(added):
        x = x.unsqueeze(2)
    scale_d, scale_h, scale_w = [1.0] * added + steps
    number = ("nearest", "nearest-exact").index(mode) if mode.startswith("nearest") else 2
    out = ops._resize(
        x,
        [1] * added + size,
        scale_d,
        scale_h,
        scale_w,
        3 if mode == "bicubic" else number,
        bool(align_corners),
        antialias,
    )
    for _ in range(added):
        out = out.squeeze(2)
    return out


def _check_sizes(old, new):
    for a, b in zip(old, new):
        if a < 1 or b < 1:
            raise RuntimeError(
                f"Input and output sizes should be greater than 0, but got input size {a} and "
                f"output size {b}"
            )


def _target_size(input, size, scale_factor, recompute):
    spatial = input.dim() - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if isinstance(size, (list, tuple)):
            if len(size) != spatial:
                raise ValueError(
                    "Input and output must have the same number of spatial dimensions, but got "
                    f"input with spatial dimensions of {list(input.shape[2:])} and output size of "
                    f"{size}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
                    "output size in (o1, o2, ...,oK) format."
                )
        else:
            size = [size] * spatial
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        return [int(s) for s in size], [None] * spatial
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if isinstance(scale_factor, (list, tuple)):
        if len(scale_factor) != spatial:
            raise ValueError(
                "Input and scale_factor must have the same number of spatial dimensions, but got "
                f"input with spatial dimensions of {list(input.shape[2:])} and scale_factor of "
                f"shape {scale_factor}."
            )
        scales = list(scale_factor)
    else:
        scales = [scale_factor] * spatial
    size = [math.floor(float(input.shape[2 + d]) * scales[d]) for d in range(spatial)]
    return size, [None] * spatial if recompute else scales


def _scale(old, new, scale, align_corners):
    """Input elements an output element advances by."""
    if align_corners:
        return (old - 1) / (new - 1) if new > 1 else 0.0
    if scale is not None and scale > 0:
        return 1.0 / scale
    return old / new if new else 0.0


def _positions(count, scale, align_corners, dtype):
    steps = ops.arange(count, dtype=dtype)
    return steps * scale if align_corners else (steps + 0.5) * scale - 0.5


def _resize(x, dim, new, scale, mode, align_corners, antialias):
    old = x.shape[dim]
    _check_sizes([old], [new])
    double = ops.empty(0).double().dtype
    if mode in ("nearest", "nearest-exact"):
        shift = 0.5 if mode == "nearest-exact" else 0.0
        steps = (ops.arange(new, dtype=ops.empty(0).float().dtype) + shift) * scale
        index = steps.floor().long().clamp(max=old - 1)
        return x.index_select(dim, index)
    cubic = mode == "bicubic"
    if antialias:
        taps, weights = _antialiased_taps(old, new, scale, align_corners, cubic, double)
    else:
        taps, weights = _taps(old, new, scale, align_corners, cubic, double)
    shape = [-1 if d == dim else 1 for d in range(x.dim())]
    out = None
    for tap, weight in zip(taps, weights):
        part = x.index_select(dim, tap) * weight.to(x.dtype).reshape(shape)
        out = part if out is None else out + part
    return out


def _taps(old, new, scale, align_corners, cubic, dtype):
    """Index and weight vectors of the 2 (linear) or 4 (cubic) neighbours of each output."""
    position = _positions(new, scale, align_corners, dtype)
    if not cubic:
        position = position.clamp(min=0)
    base = position.floor()
    if not cubic:
        base = base.clamp(max=old - 1)
        t = (position - base).clamp(0, 1)
        return [base.long(), (base + 1).long().clamp(max=old - 1)], [1 - t, t]
    t = position - base
    weights = [cubic_weight(t + 1), cubic_weight(t), cubic_weight(1 - t), cubic_weight(2 - t)]
    return [(base + k).long().clamp(0, old - 1) for k in (-1, 0, 1, 2)], weights


def _antialiased_taps(old, new, scale, align_corners, cubic, dtype):
    stretch = max(scale, 1.0)
    support = (2.0 if cubic else 1.0) * stretch
    center = scale * (ops.arange(new, dtype=dtype) + 0.5)
    first = (center - support + 0.5).long().clamp(min=0)
    last = (center + support + 0.5).long().clamp(max=old)
    taps, weights = [], []
    for k in range(2 * math.ceil(support) + 1):
        tap = first + k
        distance = ((tap.to(dtype) - center + 0.5) / stretch).abs()
        weight = cubic_weight(distance, -0.5) if cubic else (1 - distance).clamp(min=0)
        weights.append(weight.masked_fill(tap >= last, 0))
        taps.append(tap.clamp(max=old - 1))
    total = weights[0]
    for weight in weights[1:]:
        total = total + weight
    return taps, [weight / total for weight in weights]


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """The old name of `interpolate`."""
    warnings.warn(
        "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """`interpolate` with mode nearest."""
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    """`interpolate` with mode bilinear and align_corners."""
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


# Sampling on a grid -------------------------------------------------------------------------------


def _warn_align_corners():
    warnings.warn(
        "Default grid_sample and affine_grid behavior has changed to align_corners=False since "
        "1.3.0. Please specify align_corners=True if the old behavior is desired. See the "
        "documentation of grid_sample for details.",
        stacklevel=3,
    )


def affine_grid(theta, size, align_corners=None):
    """The grid for `grid_sample` of affine maps theta: (N, 2, 3) or (N, 3, 4).

    Args:
        size: of the image to sample, (N, C, H, W) or (N, C, D, H, W).
    """
    if align_corners is None:
        _warn_align_corners()
        align_corners = False
    if not theta.dtype.is_floating_point:
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    n = len(size) - 2
    if n not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {size}."
        )
    if theta.dim() != 3 or theta.shape[-2:] != (n, n + 1):
        raise ValueError(
            f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size {size}. "
            f"Got {theta.shape}."
        )
    return affine_grid_generator(theta, size, align_corners)


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """The values of input at the positions in grid.

    Args:
        input: (N, C, H, W) or (N, C, D, H, W).
        grid: (N, H', W', 2) or (N, D', H', W', 3), x first; -1 and 1 are the borders.
        mode: bilinear, nearest or, for 4 dimensions, bicubic.
        padding_mode: what lies outside: zeros, border or reflection.
        align_corners: whether -1 and 1 are the centers of the corner elements, not their edges.
    """
    if mode not in SAMPLING_MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'"
        )
    if padding_mode not in PADDING_MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'"
        )
    if align_corners is None:
        _warn_align_corners()
        align_corners = False
    modes = SAMPLING_MODES.index(mode), PADDING_MODES.index(padding_mode)
    return grid_sampler(input, grid, *modes, align_corners)
