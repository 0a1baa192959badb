"""The frame of tests/ecosystem: what it compares and what it says."""

import importlib.util
import pathlib
import sys

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "ecosystem"


@pytest.fixture(scope="module")
def run():
    spec = importlib.util.spec_from_file_location("ecosystem_run", FOLDER / "run.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_every_case_is_recorded_and_pinned(run):
    cases = {path.stem for path in (FOLDER / "cases").glob("*.py")}
    recorded = {path.stem for path in (FOLDER / "golden").glob("*.json")}
    assert cases == recorded
    pins = run.requirements()
    assert not [name for name in cases if run.package_of(name, pins) is None]


def test_differences_by_kind_and_pattern(run):
    want = {"loss": [1.0, 2.0], "count": 3, "name": "a", "flag": True, "nan": float("nan")}
    assert run.differences(want, dict(want), {}) == []
    assert run.differences(want, {**want, "loss": [1.00001, 2.0]}, {}) == []
    assert run.differences(want, {**want, "loss": [1.001, 2.0]}, {}) == [
        "loss[0]: 1.001 instead of 1.0"
    ]
    assert run.differences(want, {**want, "loss": [1.001, 2.0]}, {"lo*": (1e-2, 0.0)}) == []
    assert run.differences(want, {**want, "loss": [1.0]}, {}) == ["loss: 1 elements instead of 2"]
    assert run.differences(want, {**want, "count": 4}, {}) == ["count: 4 instead of 3"]
    assert run.differences(want, {**want, "flag": 1}, {}) == ["flag: 1 instead of True"]
    assert run.differences({"a": 1}, {"b": 1}, {}) == ["a: missing", "b: not recorded"]


def test_an_error_is_placed(run, tmp_path):
    path = tmp_path / "case.py"
    source = "import json\nfrom torch.nn import (\n    Absent,\n)\nAbsent()\n"
    path.write_text(source)
    trace = f'Traceback …\n  File "{path}", line {{}}, in <module>\nNameError: no Absent\n'
    assert run.failed_at_import(source, trace.format(2), path)
    assert not run.failed_at_import(source, trace.format(5), path)
    assert run.error_of(trace.format(5), path).startswith("NameError: no Absent  (line 5")
