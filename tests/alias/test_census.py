"""The names of torch that packages use exist: see tools/census.py."""

from __future__ import annotations

import importlib.util
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# least number of packages -> share of the names that must do what they say
PRESENT = {10: 1.0, 5: 0.99, 3: 0.98, 2: 0.96, 1: 0.91}
REACHABLE = {10: 1.0, 5: 1.0, 3: 0.995, 2: 0.99, 1: 0.97}


@pytest.fixture(scope="module")
def rows():
    spec = importlib.util.spec_from_file_location("census_tool", ROOT / "tools" / "census.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool.shares(tool.census())


def test_names_do_what_they_say(rows):
    low = {n: present / names for n, names, present, _ in rows if present < PRESENT[n] * names}
    assert not low


def test_names_can_be_reached(rows):
    low = {
        n: (present + unbuilt) / names
        for n, names, present, unbuilt in rows
        if present + unbuilt < REACHABLE[n] * names
    }
    assert not low
