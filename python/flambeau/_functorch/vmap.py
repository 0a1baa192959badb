"""Function transforms."""

from __future__ import annotations

from flambeau.func import vmap

__all__ = ["vmap"]
