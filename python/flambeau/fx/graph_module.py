"""Parts of `torch.fx`."""

from __future__ import annotations

import flambeau.fx as _fx

GraphModule = _fx.GraphModule  # type: ignore[attr-defined]

__all__ = ["GraphModule"]
