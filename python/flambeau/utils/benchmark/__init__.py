"""How long statements take: `Timer` measures, `Compare` shows several measurements in a table."""

from __future__ import annotations

from flambeau._absent import declare

from ._measure import (
    Colorize,
    Compare,
    Language,
    Measurement,
    TaskSpec,
    Timer,
    ordered_unique,
    select_unit,
    set_torch_threads,
    timer,
    trim_sigfig,
    unit_to_english,
)

declare(
    globals(),
    "inputs at random and counts of instructions",
    classes="CallgrindStats CopyIfCallgrind FunctionCount FunctionCounts FuzzedParameter"
    " FuzzedSparseTensor FuzzedTensor Fuzzer ParameterAlias",
)
__all__ = [
    "Colorize", "Compare", "Language", "Measurement", "TaskSpec", "Timer", "ordered_unique",
    "select_unit", "set_torch_threads", "timer", "trim_sigfig", "unit_to_english",
]  # fmt: skip
