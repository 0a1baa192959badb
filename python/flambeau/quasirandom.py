"""Quasirandom sequences: points that fill the unit cube more evenly than random ones.

The direction numbers are those of S. Joe and F. Y. Kuo, "Constructing Sobol sequences with better
two-dimensional projections", SIAM J. Sci. Comput. 30 (2008), in `_sobol_numbers.bin` (their licence
is beside it): compressed, the polynomials as differences of two bytes, then of each initial number
that is not 1, for the dimensions that have it, half of it, a byte plane after the other.
"""

from __future__ import annotations

import functools
import pathlib

from flambeau._C import Generator, float32, get_default_dtype, int32, int64, ops, uint8
from flambeau._factory import frombuffer
from flambeau.autograd import no_grad

_DEGREES = 18  # of the polynomials; that of the first dimension has degree 0


@functools.cache
def _tables():
    """Polynomials and their degrees, and by position and shift the planes of initial numbers."""
    import zlib

    file = pathlib.Path(__file__).with_name("_sobol_numbers.bin")
    data = frombuffer(bytearray(zlib.decompress(file.read_bytes())), dtype=uint8)
    count = SobolEngine.MAXDIM
    pairs = data[: 2 * count].to(int64).reshape(count, 2)
    polynomials = ops.cumsum(pairs[:, 0] + 256 * pairs[:, 1], 0)
    powers = ops.bitwise_left_shift(ops.ones(_DEGREES, dtype=int64), ops.arange(1, _DEGREES + 1))
    degrees = ops.searchsorted(powers, polynomials, right=True)
    planes = []
    at = 2 * count
    for j in range(1, _DEGREES):
        first = int((degrees <= j).sum())  # the degrees rise
        for shift in range(0, j, 8):
            planes.append((j, shift, first, data[at : at + count - first]))
            at += count - first
    return polynomials, degrees, planes


def _direction_numbers(dimension):
    """(dimension, MAXBIT): by bit of the point's number, the bits that it turns over."""
    polynomials, degrees, planes = _tables()
    polynomials, degrees = polynomials[:dimension], degrees[:dimension]
    numbers = ops.ones((dimension, SobolEngine.MAXBIT), dtype=int64)
    for j, shift, first, plane in planes:
        if first < dimension:
            numbers[first:, j] += plane[: dimension - first].to(int64) << (shift + 1)
    rows = ops.arange(dimension)
    highest = int(degrees[-1])
    for j in range(1, SobolEngine.MAXBIT):
        # Numbers beyond the degree follow from the recurrence that the polynomial stands for.
        oldest = numbers[rows, (j - degrees).clamp(min=0)]
        following = oldest ^ (oldest << degrees)
        for k in range(1, min(j, highest)):
            has = (polynomials >> (degrees - k).clamp(min=0)) & (degrees > k).to(int64) & 1
            following = following ^ has * (numbers[:, j - k] << k)
        numbers[:, j] = ops.where((degrees <= j) & (degrees > 0), following, numbers[:, j])
    return numbers << ops.arange(SobolEngine.MAXBIT - 1, -1, -1)


class SobolEngine:
    """Draws points of a Sobol sequence, scrambled or not.

    Args:
        dimension: of the points, from 1 to `MAXDIM`.
        scramble: whether to scramble by a random lower triangular matrix over the bits and a
            random shift (J. Matousek, "On the L2-discrepancy for anchored boxes", J. Complexity
            14, 1998).
        seed: of the scrambling; None draws from the default generator.

    Attributes:
        num_generated: points that were drawn or skipped.

    Errors: `ValueError` for other dimensions.

    >>> engine = flambeau.quasirandom.SobolEngine(dimension=2)
    >>> engine.draw(4)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500],
            [0.2500, 0.7500]])
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension, scramble=False, seed=None):
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}], got "
                f"{dimension}"
            )
        self.seed = seed
        self.scramble = scramble
        self.dimension = dimension
        self.sobolstate = _direction_numbers(dimension)
        self.shift = ops.zeros(dimension, dtype=int64)
        if scramble:
            self._scramble()
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def _scramble(self):
        generator = None if self.seed is None else Generator().manual_seed(self.seed)
        bits = (self.dimension, self.MAXBIT)
        self.shift = (ops.randint(2, bits, generator=generator) << ops.arange(self.MAXBIT)).sum(1)
        matrix = ops.randint(2, (*bits, self.MAXBIT), generator=generator).tril()
        # Bit i, from the top, of the scrambled number is the parity of the bits above it that row
        # i of the matrix selects, and of bit i itself.
        places = ops.arange(self.MAXBIT - 1, -1, -1)
        digits = (self.sobolstate.unsqueeze(2) >> places) & 1  # dimension, number, place
        ops.diagonal(matrix, 0, 1, 2).fill_(1)
        scrambled = ops.matmul(digits.to(float32), matrix.mT.to(float32)).to(int64) & 1
        self.sobolstate = (scrambled << places).sum(2)

    @no_grad()
    def draw(self, n=1, out=None, dtype=None):
        """The next n points, as (n, dimension).

        Args:
            n: how many.
            out: a tensor to write them to.
            dtype: a float dtype; None: the default one.
        """
        dtype = get_default_dtype() if dtype is None else dtype
        if not dtype.is_floating_point:
            raise NotImplementedError(f"SobolEngine.draw: expected a float dtype, got {dtype}")
        if n < 0 or (n == 0 and self.num_generated == 0):
            raise RuntimeError(f"SobolEngine.draw: expected a number of points, got {n}")
        points = self._points(self.num_generated, n)
        if n:
            self.quasi = points[-1].to(int64)
        self.num_generated += n
        result = points.to(dtype) / 2**self.MAXBIT
        return result if out is None else out.resize_(result.shape).copy_(result)

    def _points(self, first, n):
        """Points as integers: point i is the shift and the numbers of the bits of i's Gray code."""
        numbers = self.sobolstate.to(int32).unbind(1)
        bits = max(n - 1, 0).bit_length()
        block, at = divmod(first, 2**bits)
        # The codes of 2**k + i and i differ in two bits, so that the points can be doubled.
        rows = 2**bits if at else n
        points = ops.empty((rows, self.dimension), dtype=int32)
        points[:1] = self.shift
        for k in range(bits):
            turned = numbers[k] ^ numbers[k - 1] if k else numbers[0]
            half = min(2**k, rows - 2**k)
            ops.bitwise_xor(points[:half], turned, out=points[2**k : 2**k + half])
        parts = []
        while n:  # at most two blocks of them
            count = min(n, 2**bits - at)
            turned = numbers[bits - 1] if bits and block & 1 else 0 * numbers[0]
            for bit in range(block.bit_length()):
                if (block ^ block >> 1) >> bit & 1:
                    turned = turned ^ numbers[bits + bit]
            part = points[at : at + count]
            parts.append(part ^ turned if block else part)
            block, at, n = block + 1, 0, n - count
        return parts[0] if len(parts) == 1 else ops.cat([points[:0], *parts])

    def draw_base2(self, m, out=None, dtype=None):
        """The next 2**m points, of which the number of all points must become a power of two.

        Errors: `ValueError` otherwise: the points would not be balanced.
        """
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: "
                f"n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                "'SobolEngine.draw()' instead."
            )
        return self.draw(n, out, dtype)

    def reset(self):
        """Begins again with the first point."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n):
        """Skips n points."""
        self.num_generated += n
        if self.num_generated:
            self.quasi = self._points(self.num_generated - 1, 1)[0].to(int64)
        return self

    def __repr__(self):
        text = [f"dimension={self.dimension}"]
        if self.scramble:
            text.append("scramble=True")
        if self.seed is not None:
            text.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(text)})"
