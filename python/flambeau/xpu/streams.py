"""Streams of XPU devices, of which there are none."""

from __future__ import annotations

import flambeau.xpu as _xpu

Event = _xpu.Event  # type: ignore[attr-defined]
Stream = _xpu.Stream  # type: ignore[attr-defined]

__all__ = ["Event", "Stream"]
