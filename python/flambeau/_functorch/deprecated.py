"""Function transforms under old names."""

from __future__ import annotations

from .apis import grad, grad_and_value, vmap

__all__ = ["grad", "grad_and_value", "vmap"]
