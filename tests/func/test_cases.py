"""Functions under transforms give what PyTorch 2.13 gives, as record.py wrote it."""

from __future__ import annotations

import json
import pathlib

import cases
import cases_layers
import pytest
import shared

WANT = json.loads((pathlib.Path(__file__).parent / "data" / "cases.json").read_text())
# What PyTorch refuses and we compute, by the place in the case's result.
COMPUTED = {"per_sample_lstm", "pools", "losses"}
assert cases and cases_layers


def same(got, want, where):
    if isinstance(want, str) and want.endswith("Error") and not isinstance(got, str):
        assert where.partition("[")[0] in COMPUTED, f"{where}: PyTorch raises {want}"
        return
    if isinstance(want, list):
        assert isinstance(got, list) and len(got) == len(want), where
        for i, (g, w) in enumerate(zip(got, want)):
            same(g, w, f"{where}[{i}]")
    elif isinstance(want, dict):
        assert got.keys() == want.keys(), where
        for k in want:
            same(got[k], want[k], f"{where}[{k}]")
    elif isinstance(want, float) and not isinstance(got, str):
        assert got == pytest.approx(want, rel=2e-5, abs=2e-6), where
    else:
        assert got == want, where


@pytest.mark.parametrize("name", shared.CASES)
def test_as_recorded(name):
    same(shared.run(name), WANT[name], name)
