"""`flambeau.Size`: the shape of a tensor, a tuple of ints."""

from __future__ import annotations

from . import _C


def _dimension(item):
    i, s = item
    if not hasattr(s, "__index__"):
        raise TypeError(
            f"torch.Size() takes an iterable of 'int' (item {i} is '{type(s).__name__}')"
        )
    s = s.__index__()
    if not -(2**63) <= s < 2**63:
        raise ValueError(
            f"Overflow when unpacking long long: item {i} of torch.Size() does not fit into 64 bits"
        )
    return s


class Size(tuple):
    """A tuple of dimension sizes.

    >>> flambeau.Size([2, 3]).numel()
    6
    """

    __slots__ = ()

    def __new__(cls, sizes=()):
        return super().__new__(cls, map(_dimension, enumerate(sizes)))

    def numel(self):
        """The number of elements of a tensor of this shape."""
        n = 1
        for s in self:
            n *= s
        return n

    def __repr__(self):
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, index):
        out = tuple.__getitem__(self, index)
        return Size(out) if isinstance(index, slice) else out

    def __add__(self, other):
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other):
        return Size(other + tuple(self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times):
        return Size(tuple.__mul__(self, times))

    def __reduce__(self):
        return _restored, (tuple(self),)  # the class itself is "torch.Size", which may not exist


def _restored(sizes):
    return Size(sizes)


Size.__module__ = "torch"
_C._register_type("Size", Size)
