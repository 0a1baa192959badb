"""What stands for a masked-out element, and which dimensions an argument means."""

from __future__ import annotations

import flambeau

_LOWEST = ("amax", "argmax", "logsumexp", "logaddexp", "softmax", "log_softmax")
_HIGHEST = ("amin", "argmin", "softmin")


def all_dims(dim, ndim):
    """Dimensions as a tuple of non-negative numbers; None and () mean all of them."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(ndim))
    found = []
    for d in (dim,) if isinstance(dim, int) else dim:
        span = max(ndim, 1)
        if not -span <= d < span:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-span}, {span - 1}], "
                f"but got {d})"
            )
        if d % span in found:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        found.append(d % span)
    return tuple(sorted(found)) if ndim else ()


def identity(name, dtype, ord=None):
    """The number that does not change the result of the operation ``name``."""
    if name in ("prod", "cumprod"):
        return 1
    if name == "norm":
        return float("inf") if ord < 0 else 0
    if name not in _LOWEST + _HIGHEST:
        return 0
    if dtype.is_floating_point:
        return float("-inf" if name in _LOWEST else "inf")
    if dtype.is_complex or dtype is flambeau.bool:
        raise NotImplementedError(f"masked.{name}: identity of {name} on {dtype} input")
    limits = flambeau.iinfo(dtype)
    return limits.min if name in _LOWEST else limits.max


def full_mask(input, mask):
    """The mask as a bool tensor of the input's shape."""
    if mask.dim() > input.dim():
        raise IndexError(
            "masked: expected broadcastable mask (got mask dimensionality higher than of the "
            f"input): {mask.dim()} and {input.dim()}"
        )
    return mask.to(flambeau.bool).expand(input.shape)


def filled(name, input, mask, ord=None):
    """The input with the identity of the operation where the mask is false."""
    value = identity(name, input.dtype, ord)
    if mask is None:
        return input
    return input.masked_fill(full_mask(input, mask).logical_not(), value)
