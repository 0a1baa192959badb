"""docs/api_coverage.md: what it says exists still does; its tool knows every name."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "api_coverage.md").read_text()
ROWS = re.findall(r"^\| (torch[\w.]*) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|", PAGE, re.M)
# Of the names that no later stage has, the share that must exist.
FLOOR = {
    "torch.Tensor": 0.9,
    "torch.nn.functional": 0.95,
    "torch.optim": 1.0,
    "torch.utils.data": 1.0,
}


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("coverage_tool", ROOT / "tools" / "coverage.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def found(tool):
    return tool.coverage()


def test_figures_do_not_shrink(found):
    assert [row[0] for row in ROWS] == list(found)
    for space, _, present, _, _ in ROWS:
        gone = f"{space}: {len(found[space][0])} names, the page says {present}"
        assert len(found[space][0]) >= int(present), gone


def test_present_shares(found):
    for space, floor in FLOOR.items():
        present, missing, _ = found[space]
        assert len(present) >= floor * (len(present) + len(missing)), f"{space}: {missing}"


def test_page_counts_every_name():
    names = json.loads((ROOT / "tests" / "data" / "api_names.json").read_text())["names"]
    for space, total, present, missing, later in ROWS:
        assert int(total) == len(names[space]) == int(present) + int(missing) + int(later)


def test_reasons(tool):
    assert tool.reason("torch", "sparse_coo_tensor") == "sparse and jagged layouts"
    assert tool.reason("torch", "vander") is None
    assert tool.reason("torch.linalg", "eig") is None
