"""Parts of graphs for forward and backward."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "the compiler",
    functions="default_partition min_cut_rematerialization_partition",
)
