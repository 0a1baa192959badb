"""Programs as graphs."""

from __future__ import annotations

import flambeau.export as _export

ExportedProgram = _export.ExportedProgram  # type: ignore[attr-defined]

__all__ = ["ExportedProgram"]
