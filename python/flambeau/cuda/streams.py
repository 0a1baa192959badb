"""Streams of CUDA devices, of which there are none."""

from __future__ import annotations

import flambeau.cuda as _cuda

Event = _cuda.Event  # type: ignore[attr-defined]
ExternalStream = _cuda.ExternalStream  # type: ignore[attr-defined]
Stream = _cuda.Stream  # type: ignore[attr-defined]

__all__ = ["Event", "ExternalStream", "Stream"]
