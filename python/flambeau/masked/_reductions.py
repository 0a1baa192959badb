"""Reductions of the elements that a mask lets through."""

from __future__ import annotations

import flambeau

from ._fill import all_dims, filled, full_mask

_SMALL = (flambeau.bool, flambeau.uint8, flambeau.int8, flambeau.int16, flambeau.int32)


def _sum_dtype(input, dtype):
    """Small integers add up in int64."""
    if dtype is not None:
        return dtype
    return flambeau.int64 if input.dtype in _SMALL else input.dtype


def _converted(input, dtype):
    return input if dtype is None or input.dtype == dtype else input.to(dtype)


def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Sum of the elements that count.

    >>> masked.sum(flambeau.tensor([1.0, 2.0]), mask=flambeau.tensor([True, False]))
    tensor(1.)
    """
    dtype = _sum_dtype(input, dtype)
    dims = all_dims(dim, input.dim())
    return flambeau.sum(filled("sum", input, mask), dims, bool(keepdim), dtype=dtype)


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Product of the elements that count."""
    dtype = _sum_dtype(input, dtype)
    out = filled("prod", input, mask)
    for d in reversed(all_dims(dim, input.dim())):
        out = flambeau.prod(out, d, bool(keepdim))
    return out.to(dtype)


def amax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Largest of the elements that count; the lowest number where there is none."""
    x = filled("amax", _converted(input, dtype), mask)
    return flambeau.amax(x, all_dims(dim, x.dim()), bool(keepdim))


def amin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Smallest of the elements that count; the highest number where there is none."""
    x = filled("amin", _converted(input, dtype), mask)
    return flambeau.amin(x, all_dims(dim, x.dim()), bool(keepdim))


def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Position of the largest of the elements that count, in the dtype of the input."""
    x = filled("argmax", _converted(input, dtype), mask)
    return flambeau.argmax(x, dim, bool(keepdim)).to(x.dtype)


def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Position of the smallest of the elements that count, in the dtype of the input."""
    x = filled("argmin", _converted(input, dtype), mask)
    return flambeau.argmin(x, dim, bool(keepdim)).to(x.dtype)


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Logarithm of the sum of exponentials of the elements that count."""
    dtype = input.dtype if dtype is None else dtype
    x = filled("logsumexp", _converted(input, dtype), mask)
    return flambeau.logsumexp(x, all_dims(dim, x.dim()), keepdim=bool(keepdim)).to(dtype)


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Vector norm of the elements that count."""
    ord = 2.0 if ord is None else ord
    x = filled("norm", _converted(input, dtype), mask, ord)
    dims = all_dims(dim, x.dim())
    return flambeau.linalg.vector_norm(x, ord, dims, bool(keepdim))


def _counts(input, mask, dims, keepdim):
    """How many elements count for each result."""
    there = full_mask(input, mask) if mask is not None else flambeau.ones(input.shape)
    return flambeau.sum(there, dims, keepdim, dtype=flambeau.int64)


def _needs_inexact(name, input, dtype):
    for text, given in (("Optional", dtype), ("Input", input.dtype if dtype is None else None)):
        if given is not None and not (given.is_floating_point or given.is_complex):
            raise ValueError(
                f"{name}(): Could not infer output dtype. {text} dtype must be either a floating"
                f" point or complex dtype. Got: {given}"
            )


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Mean of the elements that count, NaN where there is none."""
    _needs_inexact("mean", input, dtype)
    dtype = input.dtype if dtype is None else dtype
    dims = all_dims(dim, input.dim())
    total = sum(input, dims, keepdim=keepdim, dtype=dtype, mask=mask)
    return total / _counts(input, mask, dims, bool(keepdim))


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """Median of the elements that count along a dimension, the lower one of two."""
    dtype = input.dtype if dtype is None else dtype
    x = _converted(input, dtype)
    where = all_dims(dim, x.dim())
    d = where[0] if where else 0
    if mask is None:
        return flambeau.median(x, d, bool(keepdim)).values
    there = full_mask(x, mask)
    if not x.is_floating_point():
        if not bool(there.any(d).all()):
            raise ValueError(
                "masked median expects no fully masked out rows if dtype is not floating point"
            )
        x = x.to(flambeau.float64)
    x = x.masked_fill(there.logical_not(), float("nan"))
    return flambeau.nanmedian(x, d, bool(keepdim)).values.to(dtype)


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """Variance of the elements that count; the divisor is their number less ``correction`` (1)."""
    if unbiased is not None and correction is not None:
        raise RuntimeError("Only one of unbiased and correction may be given")
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    if dtype is None:
        exact = not (input.is_floating_point() or input.is_complex())
        dtype = flambeau.get_default_dtype() if exact else input.dtype
    dims = all_dims(dim, input.dim())
    x = input.to(dtype)
    counts = _counts(x, mask, dims, True)
    center = sum(x, dims, keepdim=True, mask=mask) / counts
    apart = x - center
    squares = apart * apart.conj() if apart.is_complex() else apart * apart
    total = sum(squares, dims, keepdim=keepdim, mask=mask)
    if not keepdim:
        counts = counts.reshape(total.shape)
    divisor = counts - correction if correction else counts
    return total / flambeau.clamp_min(divisor, 0)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """Standard deviation of the elements that count, the root of `var`."""
    return var(
        input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask
    ).sqrt()
