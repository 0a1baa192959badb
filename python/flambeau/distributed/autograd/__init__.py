"""Gradients across processes."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "remote calls",
    classes="context",
    functions="backward get_gradients",
)
