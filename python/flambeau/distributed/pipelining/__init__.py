"""Models whose layers lie on several processes."""

from __future__ import annotations

from enum import Enum

from flambeau._absent import declare


class SplitPoint(Enum):
    """Where a model is cut: before or behind a module."""

    BEGINNING = 1
    END = 2


__all__ = ["SplitPoint"]

declare(
    globals(),
    "pipelines over several processes",
    classes=(
        "Pipe PipelineStage Schedule1F1B ScheduleGPipe ScheduleInterleaved1F1B"
        " ScheduleInterleavedZeroBubble ScheduleLoopedBFS ScheduleZBVZeroBubble"
        " ScheduleDualPipeV"
    ),
    functions="build_stage pipe_split pipeline",
)
