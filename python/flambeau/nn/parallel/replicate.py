"""Copies of a module on devices."""

from __future__ import annotations

__all__ = ["replicate"]


def replicate(network, devices, detach=False):
    """Copies of a module on several devices.

    Raises:
        ValueError: a device is the CPU; there are no others.
    """
    raise ValueError(f"Expected a non cpu device, but got: {list(devices)}")
