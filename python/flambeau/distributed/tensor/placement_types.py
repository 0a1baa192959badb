"""How a tensor lies on several processes: whole, in parts, or as a sum that is still to be made."""

from __future__ import annotations

from dataclasses import dataclass


class Placement:
    """The base of `Replicate`, `Shard` and `Partial`.

    Example:
        >>> Shard(1).is_shard(), Shard(1).is_shard(0), Replicate().is_replicate()
        (True, False, True)
    """

    def is_shard(self, dim=None):
        """Whether it is `Shard`, of a dimension where one is given."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self):
        """Whether it is `Replicate`."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op=None):
        """Whether it is `Partial`, of an operation where one is given."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Replicate(Placement):
    """Each process has the whole tensor."""


@dataclass(frozen=True)
class Shard(Placement):
    """Each process has a part along a dimension."""

    dim: int


@dataclass(frozen=True)
class _StridedShard(Shard):
    """Each process has pieces along a dimension that another split has cut before."""

    split_factor: int = 1


@dataclass(frozen=True)
class Partial(Placement):
    """Each process has a summand."""

    reduce_op: str = "sum"


__all__ = ["Partial", "Placement", "Replicate", "Shard"]
