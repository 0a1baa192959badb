"""Checkpoints of all kinds: files of PyTorch, and our own round trips.

``data/checkpoints`` was written by PyTorch 2.13.0 with ``checkpoints.py``, whose header says how;
the same script checks files of flambeau with PyTorch.
"""

from __future__ import annotations

import io
import pathlib
import pickle
import sys

import pytest

import flambeau

sys.path.insert(0, str(pathlib.Path(__file__).parent))
checkpoints = __import__("checkpoints")
sys.path.pop(0)

FILES = pathlib.Path(__file__).parent / "data" / "checkpoints"
HERE = checkpoints.available(flambeau)
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def test_all_files_are_there():
    assert {p.stem for p in FILES.glob("*.pt")} == set(checkpoints.CASES)
    assert sum(p.stat().st_size for p in FILES.glob("*.pt")) < 1 << 20


@pytest.mark.parametrize("name", checkpoints.CASES)
def test_files_of_pytorch(name):
    path = FILES / f"{name}.pt"
    if name not in HERE:
        with pytest.raises(pickle.UnpicklingError, match="which this build does not have"):
            flambeau.load(path)
        return
    assert checkpoints.differences(flambeau, path, HERE[name]) == []


@pytest.mark.parametrize("name", HERE)
def test_round_trips(name, tmp_path):
    path, case = tmp_path / "it.pt", HERE[name]
    flambeau.save(case.make(flambeau), path, **case.save)
    assert checkpoints.differences(flambeau, path, case) == []


@pytest.mark.parametrize("name", [n for n in HERE if n.startswith("legacy")])
def test_old_files_of_file_objects(name):
    case = HERE[name]
    data = (FILES / f"{name}.pt").read_bytes()
    prefixed = io.BytesIO(b"head" + data + b"tail")
    prefixed.seek(4)
    assert checkpoints.differences(flambeau, prefixed, case) == []
