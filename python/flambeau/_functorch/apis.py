"""Function transforms."""

from __future__ import annotations

from flambeau.func import grad, grad_and_value, vmap

__all__ = ["grad", "grad_and_value", "vmap"]
