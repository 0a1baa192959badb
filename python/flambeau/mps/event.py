"""Events of Apple's devices, of which there are none."""

from __future__ import annotations

import flambeau.mps as _mps

Event = _mps.Event  # type: ignore[attr-defined]

__all__ = ["Event"]
