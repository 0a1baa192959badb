"""Devices of other processes."""

from __future__ import annotations

from flambeau._absent import declare

declare(
    globals(),
    "remote calls",
    classes="_remote_device",
)
