"""Parts of `torch.fx`."""

from __future__ import annotations

import flambeau.fx as _fx

Graph = _fx.Graph  # type: ignore[attr-defined]
CodeGen = _fx.CodeGen  # type: ignore[attr-defined]

__all__ = ["CodeGen", "Graph"]
