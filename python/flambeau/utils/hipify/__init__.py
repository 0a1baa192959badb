"""Translation of CUDA to HIP."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "devices of AMD",
    functions="hipify_python",
)
