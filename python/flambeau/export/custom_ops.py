"""Operators in graphs."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "export of programs",
    functions="_call_custom_autograd_function_in_pre_dispatch",
)
