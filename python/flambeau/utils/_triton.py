"""Triton, in which PyTorch's compiler writes kernels of other devices: not used."""

from __future__ import annotations


def has_triton_package():
    """Whether Triton is used: no."""
    return False


def has_triton():
    """Whether Triton is used: no."""
    return False
