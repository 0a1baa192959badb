"""Parts of `torch.fx`."""

from __future__ import annotations

import flambeau.fx as _fx

Node = _fx.Node  # type: ignore[attr-defined]
map_arg = _fx.map_arg  # type: ignore[attr-defined]
map_aggregate = _fx.map_aggregate  # type: ignore[attr-defined]
has_side_effect = _fx.has_side_effect  # type: ignore[attr-defined]

__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]

Argument = object
Target = object
