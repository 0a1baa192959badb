"""Where the part of a process lies in a tensor that is spread over a mesh."""

from __future__ import annotations

from .placement_types import Shard


def compute_local_shape_and_global_offset(global_shape, mesh, placements):
    """The shape of this process's part, and where it begins.

    Example:
        >>> from torch.distributed.tensor import Replicate
        >>> compute_local_shape_and_global_offset((4, 3), None, [Replicate()])
        ((4, 3), (0, 0))
    """
    shape, offset = list(global_shape), [0] * len(global_shape)
    for dim, placement in enumerate(placements):
        if isinstance(placement, Shard):
            length = shape[placement.dim]
            part = -(-length // mesh.size(dim))
            start = min(part * mesh.get_local_rank(dim), length)
            shape[placement.dim] = min(part, length - start)
            offset[placement.dim] += start
    return tuple(shape), tuple(offset)
