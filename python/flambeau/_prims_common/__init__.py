"""Helpers of PyTorch's reference operators."""

from __future__ import annotations

from typing import Any

DeviceLikeType = Any
Number = int | float | bool | complex
NumberType = Number
ShapeType = Any
StrideType = Any
TensorLikeType = Any


def is_contiguous(a):
    """Whether a tensor lies in memory in order."""
    return a.is_contiguous()


def make_contiguous_strides_for(shape, row_major=True):
    """The strides of a tensor that lies in memory in order.

    Example:
        >>> make_contiguous_strides_for((2, 3))
        (3, 1)
    """
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    result = tuple(reversed(strides))
    if row_major or len(shape) < 2:
        return result
    return (*result[:-2], 1, max(shape[-2], 1))


def canonicalize_dim(rank, idx, wrap_scalar=True):
    """A dimension counted from the front."""
    if rank == 0 and wrap_scalar:
        rank = 1
    if not -rank <= idx < rank:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got "
            f"{idx})"
        )
    return idx + rank if idx < 0 else idx


def is_float_dtype(dtype):
    """Whether a dtype is a real floating one."""
    return dtype.is_floating_point


def is_complex_dtype(dtype):
    """Whether a dtype is complex."""
    return dtype.is_complex
