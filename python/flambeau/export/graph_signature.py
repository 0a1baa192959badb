"""What graphs take and give."""

from __future__ import annotations

import flambeau.export as _export
from flambeau._absent import declare

ExportGraphSignature = _export.ExportGraphSignature  # type: ignore[attr-defined]

declare(
    globals(),
    "export of programs",
    classes="ArgumentSpec InputKind InputSpec OutputKind OutputSpec TensorArgument",
)
