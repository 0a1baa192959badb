"""Shared pieces of the test suite."""

from __future__ import annotations

import pytest

import flambeau


@pytest.fixture(autouse=True)
def _fresh_state():
    """Every test starts with the same seed, dtype and modes."""
    flambeau.manual_seed(0)
    yield
    flambeau.set_default_dtype(flambeau.float32)
    assert flambeau.is_grad_enabled()
