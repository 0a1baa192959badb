"""Dimensions merged into one, or one split into several."""

from __future__ import annotations

from flambeau._C import ops

from .module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Merges dimensions start_dim to end_dim, by default all but the first.

    Example:
        >>> nn.Flatten()(flambeau.ones(2, 3, 4)).shape
        torch.Size([2, 12])
    """

    __constants__ = ["start_dim", "end_dim"]

    def __init__(self, start_dim=1, end_dim=-1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input):
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits a dimension into several.

    Args:
        dim: the dimension.
        unflattened_size: the sizes; one may be -1.

    Raises:
        TypeError: unflattened_size is no tuple or list of integers.
    """

    __constants__ = ["dim", "unflattened_size"]

    def __init__(self, dim, unflattened_size) -> None:
        super().__init__()
        self._require_tuple_int(unflattened_size)
        self.dim = dim
        self.unflattened_size = unflattened_size

    def _require_tuple_int(self, sizes):
        if not isinstance(sizes, (tuple, list)):
            raise TypeError(
                f"unflattened_size must be a tuple of ints, but found type {type(sizes).__name__}"
            )
        for i, size in enumerate(sizes):
            if not isinstance(size, int):
                raise TypeError(
                    "unflattened_size must be tuple of ints, but found element of type "
                    f"{type(size).__name__} at pos {i}"
                )

    def forward(self, input):
        return ops.unflatten(input, self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
