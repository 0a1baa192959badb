"""Pruning by a schedule."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "pruning by a schedule (torch.nn.utils.prune works)",
    classes=(
        "BaseScheduler BaseSparsifier CubicSL LambdaSL NearlyDiagonalSparsifier"
        " WeightNormSparsifier"
    ),
)
