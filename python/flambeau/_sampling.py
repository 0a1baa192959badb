"""Sampling images on a grid: ``grid_sampler_2d``, ``grid_sampler_3d`` and the affine grid."""

from __future__ import annotations

from ._C import ops
from ._torch_function import let_override

# The numbers that stand for them in the arguments.
SAMPLING_MODES = ("bilinear", "nearest", "bicubic")
PADDING_MODES = ("zeros", "border", "reflection")


def affine_grid_generator(theta, size, align_corners):
    """The grid for `grid_sampler` of affine maps theta: (N, 2, 3) or (N, 3, 4).

    >>> flambeau.affine_grid_generator(flambeau.eye(2, 3)[None], [1, 1, 1, 2], False)
    tensor([[[[-0.5000,  0.0000],
              [ 0.5000,  0.0000]]]])
    """
    n = len(size) - 2
    axes = []
    for d in range(n):  # x first: the last dimension
        count = size[-1 - d]
        steps = ops.arange(count, dtype=theta.dtype)
        if align_corners:
            line = steps * (2 / (count - 1)) - 1 if count > 1 else steps * 0
        else:
            line = (steps * 2 + 1) / count - 1
        shape = [1] * n
        shape[n - 1 - d] = count
        axes.append(line.reshape(shape).expand(*size[2:]))
    axes.append(ops.ones_like(axes[0]))
    points = ops.stack(axes, -1).reshape(1, -1, n + 1)
    return (points @ theta.transpose(1, 2)).reshape(size[0], *size[2:], n)


def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """The values of input (N, C, H, W) or (N, C, D, H, W) at the positions in grid.

    Args:
        grid: (N, H', W', 2) or (N, D', H', W', 3), x first; -1 and 1 are the borders.
        interpolation_mode: 0 bilinear, 1 nearest, 2 bicubic (for 4 dimensions).
        padding_mode: what lies outside: 0 zeros, 1 border, 2 reflection.
        align_corners: whether -1 and 1 are the centers of the corner elements, not their edges.

    >>> flambeau.grid_sampler(flambeau.ones(1, 1, 2, 2), flambeau.zeros(1, 1, 1, 2), 0, 0, False)
    tensor([[[[1.]]]])
    """
    _check(input, grid, interpolation_mode, padding_mode)
    n = input.dim() - 2
    return ops._grid_sample(
        input, grid, interpolation_mode, padding_mode, bool(align_corners), [0] * n
    )


def grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners):
    """`grid_sampler` of an input of 4 dimensions."""
    _check_ndim("grid_sampler_2d", input, grid, 4)
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_3d(input, grid, interpolation_mode, padding_mode, align_corners):
    """`grid_sampler` of an input of 5 dimensions."""
    _check_ndim("grid_sampler_3d", input, grid, 5)
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def _check_ndim(name, input, grid, ndim):
    if input.dim() != ndim or grid.dim() != ndim:
        raise RuntimeError(
            f"{name}(): expected {ndim}D input and grid with same number of dimensions, but got "
            f"input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )


def _check(input, grid, mode, padding):
    n = input.dim() - 2
    sizes = f"got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
    if input.dtype != grid.dtype:
        raise RuntimeError(
            "grid_sampler(): expected input and grid to have the same dtype, but input has "
            f"{input.dtype} and grid has {grid.dtype}"
        )
    if n not in (2, 3) or grid.dim() != input.dim():
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but "
            + sizes
        )
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(
            f"grid_sampler(): expected grid and input to have same batch size, but {sizes}"
        )
    if grid.shape[-1] != n:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {n} in last dimension, but got grid with "
            f"sizes {list(grid.shape)}"
        )
    for d in range(2, input.dim()):
        if not input.shape[d]:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input "
                f"has sizes {list(input.shape)} with dimension {d} being empty"
            )
    if not 0 <= mode < len(SAMPLING_MODES):
        raise RuntimeError(
            f"grid_sampler(): expected an interpolation mode of 0, 1 or 2, got {mode}"
        )
    if not 0 <= padding < len(PADDING_MODES):
        raise RuntimeError(f"grid_sampler(): expected a padding mode of 0, 1 or 2, got {padding}")
    if SAMPLING_MODES[mode] == "bicubic" and n != 2:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")


def cubic_weight(x, a=-0.75):
    """Keys' kernel at distances x >= 0."""
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return ops.where(x <= 1, near, ops.where(x < 2, far, ops.zeros_like(x)))


let_override(
    globals(), ["affine_grid_generator", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d"]
)
