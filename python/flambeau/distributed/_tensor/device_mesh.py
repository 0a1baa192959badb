"""Meshes under their old module."""

from __future__ import annotations

from flambeau.distributed.device_mesh import DeviceMesh, init_device_mesh

__all__ = ["DeviceMesh", "init_device_mesh"]
