"""Modules of graphs."""

from __future__ import annotations

import flambeau.export as _export

UnflattenedModule = _export.UnflattenedModule  # type: ignore[attr-defined]

__all__ = ["UnflattenedModule"]
