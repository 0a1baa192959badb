"""Apple's Metal, which this build has not."""

from __future__ import annotations


def is_built() -> bool:
    """Whether the build has Metal: never."""
    return False


def is_available() -> bool:
    """Whether there is a Metal device: never."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether the system is macOS of at least this version: never."""
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Whether the system is macOS 13 or newer: never."""
    return False


def get_name() -> str:
    """Raises: there is no Metal device."""
    raise RuntimeError("torch.backends.mps.get_name: this build has no MPS backend")


def get_core_count() -> int:
    """Raises: there is no Metal device."""
    raise RuntimeError("torch.backends.mps.get_core_count: this build has no MPS backend")
