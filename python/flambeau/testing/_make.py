"""`make_tensor`: a tensor of random values, for tests."""

from __future__ import annotations

import math

from flambeau import _C
from flambeau._dtype_info import finfo, iinfo


def make_tensor(
    *shape,
    dtype,
    device,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format=None,
):
    """A tensor with values drawn uniformly from ``[low, high)``.

    Args:
        shape: its size, as integers or one sequence.
        dtype, device: of the result.
        low, high: the range, cut to what `dtype` holds. Without: bool 0 and 2, unsigned 0 and 10,
            signed integers -9 and 10, floating and complex (each part) -9 and 9.
        requires_grad: record operations on the result (floating and complex only).
        noncontiguous: not contiguous in memory, if it has two elements or more.
        exclude_zero: replace zeros by 1, or by the smallest normal number.
        memory_format: of the result; not together with `noncontiguous`.

    Raises:
        ValueError: an empty or NaN range, or arguments that exclude each other.

    Example:
        >>> import flambeau
        >>> flambeau.testing.make_tensor(2, 3, dtype=flambeau.float32, device="cpu").shape
        torch.Size([2, 3])
    """
    if len(shape) == 1 and not isinstance(shape[0], int):
        shape = tuple(shape[0])
    floating = dtype.is_floating_point or dtype.is_complex
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, "
            f"but got noncontiguous={noncontiguous} and memory_format={memory_format}"
        )
    if requires_grad and not floating:
        raise ValueError(
            "`requires_grad=True` is not supported for boolean and integral dtypes, "
            f"but got dtype={dtype}"
        )
    low, high = _range(dtype, low, high)
    result = _draw(shape, dtype, device, low, high)
    if noncontiguous and result.numel() > 1:
        doubled = result.unsqueeze(-1).expand(*result.shape, 2)
        result = doubled.reshape(*result.shape[:-1], 2 * result.shape[-1])[..., ::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result = _without_zero(result)
    return result.requires_grad_() if requires_grad else result


def _range(dtype, low, high) -> tuple:
    floating = dtype.is_floating_point or dtype.is_complex
    if dtype == _C.bool:
        bounds, default = (0, 2), (0, 2)
    elif floating:
        info = finfo(dtype)
        bounds, default = (info.min, info.max), (-9, 9)
    else:
        limits = iinfo(dtype)
        bounds, default = (limits.min, limits.max), (-9 if dtype.is_signed else 0, 10)
    low = default[0] if low is None else low
    high = default[1] if high is None else high
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low} and high={high}")
    if low > high or (low == high and not floating):
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    low, high = (min(max(x, bounds[0]), bounds[1]) for x in (low, high))
    if not floating:
        low, high = math.floor(low), math.ceil(high)
        if low == high:
            raise ValueError(f"no value of {dtype} lies in [{low}, {high})")
    return low, high


def _draw(shape: tuple, dtype, device, low, high):
    if not (dtype.is_floating_point or dtype.is_complex):
        return _C.ops.randint(low, high, shape, dtype=dtype, device=device)
    result = _C.ops.empty(shape, dtype=dtype, device=device)
    parts = _C.ops.view_as_real(result) if dtype.is_complex else result
    if high - low <= finfo(dtype).max:
        parts.uniform_(low, high)
    else:
        # The width of the range overflows: draw halves.
        parts.uniform_(low / 2, high / 2).mul_(2)
    return result


def _without_zero(result):
    dtype = result.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        return result.masked_fill(result == 0, 1)
    tiny = finfo(dtype).tiny
    return result.masked_fill(result == 0, complex(tiny, tiny) if dtype.is_complex else tiny)
