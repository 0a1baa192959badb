"""Generators of XPU devices, of which there are none."""

from __future__ import annotations

import flambeau.xpu as _xpu

get_rng_state = _xpu.get_rng_state  # type: ignore[attr-defined]
get_rng_state_all = _xpu.get_rng_state_all  # type: ignore[attr-defined]
initial_seed = _xpu.initial_seed  # type: ignore[attr-defined]
manual_seed = _xpu.manual_seed  # type: ignore[attr-defined]
manual_seed_all = _xpu.manual_seed_all  # type: ignore[attr-defined]
seed = _xpu.seed  # type: ignore[attr-defined]
seed_all = _xpu.seed_all  # type: ignore[attr-defined]
set_rng_state = _xpu.set_rng_state  # type: ignore[attr-defined]
set_rng_state_all = _xpu.set_rng_state_all  # type: ignore[attr-defined]

__all__ = [
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]
