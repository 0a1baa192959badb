"""`torch._C._functions`: for programs that name its classes."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "making nodes of gradients by hand",
    classes="AccumulateGrad DelayedError UndefinedGrad",
)
