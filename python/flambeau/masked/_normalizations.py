"""Functions along a dimension that keep the shape; masked-out elements do not take part."""

from __future__ import annotations

import flambeau

from ._fill import filled
from ._reductions import norm


def _input(input, dtype):
    return input if dtype is None or input.dtype == dtype else input.to(dtype)


def softmax(input, dim, *, dtype=None, mask=None):
    """Softmax over the elements that count; the others get 0.

    >>> masked.softmax(flambeau.zeros(3), 0, mask=flambeau.tensor([True, True, False]))
    tensor([0.5000, 0.5000, 0.0000])
    """
    return flambeau.softmax(filled("softmax", _input(input, dtype), mask), dim)


def log_softmax(input, dim, *, dtype=None, mask=None):
    """Logarithm of `softmax`; the elements that do not count get -inf."""
    return flambeau.log_softmax(filled("log_softmax", _input(input, dtype), mask), dim)


def softmin(input, dim, *, dtype=None, mask=None):
    """Softmax of the negated input."""
    return flambeau.nn.functional.softmin(filled("softmin", _input(input, dtype), mask), dim)


def cumsum(input, dim, *, dtype=None, mask=None):
    """Running sum of the elements that count."""
    x = filled("cumsum", _input(input, dtype), mask)
    return flambeau.cumsum(x, dim, dtype=x.dtype)


def cumprod(input, dim, *, dtype=None, mask=None):
    """Running product of the elements that count."""
    x = filled("cumprod", _input(input, dtype), mask)
    return flambeau.cumprod(x, dim, dtype=x.dtype)


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """The elements that count, divided by their norm (or ``eps``, where that is larger)."""
    x = filled("normalize", _input(input, dtype), mask)
    length = norm(x, ord, dim, keepdim=True, mask=mask)
    return x / flambeau.maximum(length, flambeau.full_like(length, eps))


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """``log(exp(input) + exp(other))``, each with its own mask."""
    a = filled("logaddexp", _input(input, dtype), input_mask)
    b = filled("logaddexp", _input(other, dtype), other_mask)
    return flambeau.logaddexp(a, b)
