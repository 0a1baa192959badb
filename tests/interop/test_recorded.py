"""Expressions of exchange and of overrides give what PyTorch 2.13 gives (see record.py)."""

from __future__ import annotations

import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import overrides_shared
import shared

DATA = pathlib.Path(__file__).parent / "data"
EXCHANGE = json.loads((DATA / "exchange.json").read_text())
OVERRIDES = json.loads((DATA / "overrides.json").read_text())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(0, len(EXCHANGE), 50))
def test_exchange(first):
    found = [[row[0], *shared.outcome(row[0])] for row in EXCHANGE[first : first + 50]]
    assert found == EXCHANGE[first : first + 50]


@pytest.mark.parametrize("text, result, calls", OVERRIDES, ids=[row[0][:60] for row in OVERRIDES])
def test_overrides(text, result, calls):
    assert overrides_shared.outcome(text) == [result, calls]
