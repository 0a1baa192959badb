"""Grids of devices of several processes: here of this process's."""

from __future__ import annotations

import math
from typing import Any

from flambeau import _C
from flambeau._absent import missing

from ._group import get_default_backend_for_device, init_process_group, is_initialized, resolve
from ._store import HashStore


class DeviceMesh:
    """A grid of one device; its dimensions may have names.

    Example:
        >>> mesh = DeviceMesh("cpu", [[0]], mesh_dim_names=("data", "model"))
        >>> mesh.shape, mesh["data"].ndim, mesh.get_local_rank("model")
        ((1, 1), 1, 0)
        >>> from flambeau.distributed import destroy_process_group
        >>> destroy_process_group()
    """

    def __init__(self, device_type, mesh, *, mesh_dim_names=None, **kwargs):
        from flambeau._factory import tensor

        self.device_type = device_type
        self.mesh = mesh if isinstance(mesh, _C.Tensor) else tensor(mesh, dtype=_C.int64)
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        names = self.mesh_dim_names
        if names is not None and len(names) != self.mesh.ndim:
            raise RuntimeError(
                f"mesh_dim_names has {len(names)} names, the mesh {self.mesh.ndim} dimensions"
            )
        if self.mesh.numel() != 1:
            raise missing(f"a DeviceMesh of {self.mesh.numel()} processes", "several processes")
        if not is_initialized():
            backend = get_default_backend_for_device(device_type)
            init_process_group(backend, store=HashStore(), rank=0, world_size=1)

    def __repr__(self):
        names = "" if self.mesh_dim_names is None else f", mesh_dim_names={self.mesh_dim_names}"
        return f"DeviceMesh({self.device_type!r}, {self.mesh.tolist()}{names})"

    def __eq__(self, other):
        if not isinstance(other, DeviceMesh):
            return NotImplemented
        return (self.device_type, self.shape, self.mesh_dim_names) == (
            other.device_type, other.shape, other.mesh_dim_names,
        )  # fmt: skip

    def __hash__(self):
        return hash((self.device_type, self.shape, self.mesh_dim_names))

    def __getitem__(self, names):
        """The part with some of the named dimensions."""
        wanted = (names,) if isinstance(names, str) else tuple(names)
        known: Any = self.mesh_dim_names or ()
        if not wanted or any(n not in known for n in wanted):
            raise KeyError(f"Invalid mesh_dim_names {wanted}; the mesh has {known}")
        part = self.mesh.reshape((1,) * len(wanted))
        return DeviceMesh(self.device_type, part, mesh_dim_names=wanted)

    @property
    def ndim(self):
        """The number of dimensions."""
        return self.mesh.ndim

    @property
    def shape(self):
        """How many devices each dimension has."""
        return tuple(self.mesh.shape)

    def size(self, mesh_dim=None):
        """How many devices there are, along a dimension where one is given."""
        return 1

    def _dim(self, mesh_dim):
        if isinstance(mesh_dim, str):
            if mesh_dim not in (self.mesh_dim_names or ()):
                raise KeyError(f"no dimension '{mesh_dim}' in {self.mesh_dim_names}")
        elif mesh_dim is not None and not -self.ndim <= mesh_dim < self.ndim:
            raise IndexError(f"dimension {mesh_dim} of a mesh of {self.ndim}")

    def get_rank(self):
        """The rank of this process."""
        return 0

    def get_local_rank(self, mesh_dim=None):
        """The place of this process along a dimension."""
        self._dim(mesh_dim)
        return 0

    def get_coordinate(self):
        """The place of this process along each dimension."""
        return [0] * self.ndim

    def get_group(self, mesh_dim=None):
        """The group of the processes along a dimension."""
        self._dim(mesh_dim)
        return resolve(None)

    def get_all_groups(self):
        """The groups of all dimensions."""
        return [resolve(None)] * self.ndim

    @classmethod
    def from_group(cls, group, device_type, mesh=None, *, mesh_dim_names=None):
        """The mesh of a group."""
        return cls(device_type, [0] if mesh is None else mesh, mesh_dim_names=mesh_dim_names)


def init_device_mesh(device_type, mesh_shape, *, mesh_dim_names=None, backend_override=None):
    """A mesh of all processes in a shape; starts a group of one process where none is."""
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError(f"Each mesh_dim_name must be unique, got {mesh_dim_names}")
        if len(mesh_shape) != len(mesh_dim_names):
            raise RuntimeError(
                "mesh_shape and mesh_dim_names should have same length, got"
                f" {len(mesh_shape)} and {len(mesh_dim_names)}"
            )
    if not device_type.isalpha():
        raise RuntimeError(f"Device type with index is not supported: {device_type!r}")
    count = math.prod(mesh_shape)
    if count != 1:
        raise missing(f"init_device_mesh of {count} processes", "groups of several processes")
    from flambeau._C import ops

    mesh = ops.zeros(tuple(mesh_shape), dtype=_C.int64)
    return DeviceMesh(device_type, mesh, mesh_dim_names=mesh_dim_names)


__all__ = ["DeviceMesh", "init_device_mesh"]
