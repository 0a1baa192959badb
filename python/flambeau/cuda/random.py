"""Generators of CUDA devices, of which there are none."""

from __future__ import annotations

import flambeau.cuda as _cuda

get_rng_state = _cuda.get_rng_state  # type: ignore[attr-defined]
get_rng_state_all = _cuda.get_rng_state_all  # type: ignore[attr-defined]
initial_seed = _cuda.initial_seed  # type: ignore[attr-defined]
manual_seed = _cuda.manual_seed  # type: ignore[attr-defined]
manual_seed_all = _cuda.manual_seed_all  # type: ignore[attr-defined]
seed = _cuda.seed  # type: ignore[attr-defined]
seed_all = _cuda.seed_all  # type: ignore[attr-defined]
set_rng_state = _cuda.set_rng_state  # type: ignore[attr-defined]
set_rng_state_all = _cuda.set_rng_state_all  # type: ignore[attr-defined]

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
