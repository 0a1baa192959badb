"""Sizes that may differ."""

from __future__ import annotations

import flambeau.export as _export

Constraint = _export.Constraint  # type: ignore[attr-defined]
Dim = _export.Dim  # type: ignore[attr-defined]
ShapesCollection = _export.ShapesCollection  # type: ignore[attr-defined]

__all__ = ["Constraint", "Dim", "ShapesCollection"]
