"""Trees within graphs."""

from __future__ import annotations

from flambeau.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["tree_flatten", "tree_unflatten"]
