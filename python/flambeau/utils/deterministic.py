"""Whether memory that is not set is filled, under deterministic algorithms."""

from __future__ import annotations

fill_uninitialized_memory = True
