"""Parts of `torch.fx`."""

from __future__ import annotations

import flambeau.fx as _fx

Interpreter = _fx.Interpreter  # type: ignore[attr-defined]
Transformer = _fx.Transformer  # type: ignore[attr-defined]

__all__ = ["Interpreter", "Transformer"]
