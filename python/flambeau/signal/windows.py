"""Window functions. Each has ``M`` points and is symmetric, or with ``sym=False`` one period of a
window that repeats. ``dtype`` is float32 or float64; values are computed in float64.

    >>> flambeau.signal.windows.hann(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

from flambeau._C import float32, float64, get_default_dtype, ops, strided

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]

_PI = 3.141592653589793


def _window(shape):
    """The public function of ``shape(n, N, **parameters)``: values at the points n, where N is the
    distance between the first point and the last one of the symmetric window."""

    @functools.wraps(shape)
    def window(
        M, *, sym=True, dtype=None, layout=strided, device=None, requires_grad=False, **parameters
    ):
        name = shape.__name__
        dtype = dtype or get_default_dtype()
        if M < 0:
            raise ValueError(f"{name} requires non-negative window length, got M={M}")
        if layout is not strided:
            raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
        if dtype not in (float32, float64):
            raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
        points = ops.arange(M, dtype=float64, device=device)
        values = shape(points, max(M - 1 if sym or M <= 1 else M, 0), sym=sym, **parameters)
        if M <= 1:
            values = ops.ones(M, dtype=float64, device=device)
        return values.to(dtype).requires_grad_(requires_grad)

    del window.__wrapped__  # its signature is not the public one
    return window


def _cosines(n, N, coefficients):
    total = ops.zeros_like(n)
    for i, a in enumerate(coefficients):
        total = total + ops.cos(n * (2 * _PI * i / max(N, 1))) * (-a if i % 2 else a)
    return total


@_window
def bartlett(n, N, sym):
    """A triangle: ``1 - |2 * n / N - 1|``."""
    return 1 - (n * (2 / max(N, 1)) - 1).abs()


@_window
def blackman(n, N, sym):
    """``0.42 - 0.5 * cos(2 * pi * n / N) + 0.08 * cos(4 * pi * n / N)``."""
    return _cosines(n, N, (0.42, 0.5, 0.08))


@_window
def cosine(n, N, sym):
    """Half a wave: ``sin(pi * (n + 0.5) / (N + 1))``."""
    return ops.sin((n + 0.5) * (_PI / (N + 1)))


@_window
def exponential(n, N, sym, center=None, tau=1.0):
    """``exp(-|n - center| / tau)``; ``center`` is the middle, another only with ``sym=False``."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    return ops.exp((n - (N / 2 if center is None else center)).abs() / -tau)


@_window
def gaussian(n, N, sym, std=1.0):
    """``exp(-((n - N / 2) / std) ** 2 / 2)``."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return ops.exp(((n - N / 2) / std) ** 2 * -0.5)


@_window
def general_cosine(n, N, sym, a=None):
    """A sum of cosines: of ``(-1) ** i * a[i] * cos(2 * pi * i * n / N)``."""
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    return _cosines(n, N, a)


@_window
def general_hamming(n, N, sym, alpha=0.54):
    """``alpha - (1 - alpha) * cos(2 * pi * n / N)``."""
    return _cosines(n, N, (alpha, 1 - alpha))


@_window
def hamming(n, N, sym):
    """``0.54 - 0.46 * cos(2 * pi * n / N)``."""
    return _cosines(n, N, (0.54, 0.46))


@_window
def hann(n, N, sym):
    """``0.5 - 0.5 * cos(2 * pi * n / N)``."""
    return _cosines(n, N, (0.5, 0.5))


@_window
def kaiser(n, N, sym, beta=12.0):
    """``i0(beta * sqrt(1 - (2 * n / N - 1) ** 2)) / i0(beta)``, i0 the modified Bessel function."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return ops.kaiser_window(n.numel(), periodic=not sym, beta=beta, dtype=float64, device=n.device)


@_window
def nuttall(n, N, sym):
    """Four cosines, with the smallest side lobes (Nuttall 1981, minimum 4-term window)."""
    return _cosines(n, N, (0.3635819, 0.4891775, 0.1365995, 0.0106411))
