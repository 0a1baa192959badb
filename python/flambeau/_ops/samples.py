"""Sample calls of table entries. A sample is a tuple of argument specifications, built by the tests:

``T(shape, low, high)`` a tensor of that shape with elements in [low, high), ``at(shape, n)`` one of
positions in [0, n), int64 whatever the dtype of the others; anything else stands for itself. Shapes stay tiny: every sample runs for many dtypes, forms and orders of derivative.
"""

from __future__ import annotations


class T:
    """A tensor to be made: shape, range of the elements, and a dtype category (None: any)."""

    def __init__(self, *shape, low=-3.0, high=3.0, integers=False, nonzero=False):
        self.shape, self.low, self.high = shape, low, high
        self.integers, self.nonzero = integers, nonzero
        self.positions = False

    def __repr__(self):
        return f"T{self.shape}"


def at(*shape, n):
    """Positions in a dimension of size n."""
    spec = T(*shape, low=0, high=n - 1, integers=True)
    spec.positions = True
    return spec


def unary(low=-3.0, high=3.0, integers=False):
    """0-d, empty, 1-d, 3-d."""
    return [
        (T(*shape, low=low, high=high, integers=integers),)
        for shape in ((), (0, 3), (5,), (2, 3, 4))
    ]


def binary(low=-3.0, high=3.0, integers=False, nonzero=False):
    """Equal shapes, both broadcasts, 0-d with n-d, empty."""
    pairs = [((3,), (3,)), ((2, 3), (3,)), ((3, 1), (1, 4)), ((), (2, 2)), ((0, 2), (2,))]
    kw = {"low": low, "high": high, "integers": integers}
    return [(T(*a, **kw), T(*b, nonzero=nonzero, **kw)) for a, b in pairs]


def scalar_binary(low=-1.0, high=1.0):
    """A tensor and two numbers."""
    return [(T(2, 3), low, high), (T(), low, high)]


def ternary(low=-2.0, high=2.0):
    """Three tensors that broadcast."""
    kw = {"low": low, "high": high}
    return [(T(3, **kw), T(3, **kw), T(3, **kw)), (T(2, 1, **kw), T(3, **kw), T(2, 3, **kw))]
