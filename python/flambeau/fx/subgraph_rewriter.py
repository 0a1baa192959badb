"""Replacement in graphs."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "graphs of programs (torch.fx)",
    classes="Match ReplacedPatterns",
    functions="replace_pattern replace_pattern_with_filters",
)
