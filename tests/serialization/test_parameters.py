"""Whole Parameters and Buffers in files, ours and PyTorch's (data/, written by PyTorch 2.13)."""

from __future__ import annotations

import io
import pathlib
import pickletools
import subprocess
import sys
import zipfile

import pytest

import flambeau
from flambeau import nn

DATA = pathlib.Path(__file__).parent / "data"


def round_trip(obj, **options):
    file = io.BytesIO()
    flambeau.save(obj, file)
    file.seek(0)
    return flambeau.load(file, **options)


@pytest.mark.parametrize("options", [{}, {"weights_only": False}])
def test_parameters_of_pytorch(options):
    got = flambeau.load(DATA / "parameters.pt", **options)
    assert type(got["p"]) is type(got["q"]) is nn.Parameter
    assert got["p"].requires_grad and not got["q"].requires_grad
    assert got["p"].tolist() == [1.0, 1.0] and got["q"].tag == "x"
    got["p"].sum().backward()
    assert got["p"].grad.tolist() == [1.0, 1.0]


def test_parameter_list_of_pytorch():
    got = flambeau.load(DATA / "parameter_list.pt", weights_only=False)
    assert type(got) is nn.ParameterList
    assert [tuple(p.shape) for p in got] == [(2,), (3,)] and got[1].tag == "x"


@pytest.mark.parametrize("options", [{}, {"weights_only": False}])
def test_buffer_of_pytorch(options):
    got = flambeau.load(DATA / "buffer.pt", **options)["b"]
    assert isinstance(got, nn.Buffer) and got.persistent and got.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("options", [{}, {"weights_only": False}])
def test_round_trip(options):
    p = nn.Parameter(flambeau.ones(2))
    q = nn.Parameter(flambeau.zeros(3), requires_grad=False)
    q.tag = "x"
    got = round_trip([p, q, p, p.data, nn.Buffer(flambeau.ones(1), persistent=False)], **options)
    assert got[0] is got[2] and got[0].data_ptr() == got[3].data_ptr()
    assert type(got[0]) is type(got[1]) is nn.Parameter and type(got[3]) is flambeau.Tensor
    assert got[1].tag == "x" and not got[1].requires_grad
    assert isinstance(got[4], nn.Buffer) and not got[4].persistent


def test_files_name_pytorch_s_functions():
    q = nn.Parameter(flambeau.zeros(3))
    q.tag = "x"
    file = io.BytesIO()
    flambeau.save([nn.Parameter(flambeau.ones(2)), q, nn.Buffer(flambeau.ones(1))], file)
    with zipfile.ZipFile(file) as archive:
        pickled = archive.read("archive/data.pkl")
    named = {argument for code, argument, _ in pickletools.genops(pickled) if code.name == "GLOBAL"}
    assert {
        "torch._utils _rebuild_parameter",
        "torch._utils _rebuild_parameter_with_state",
        "torch._tensor _rebuild_from_type_v2",
        "torch Tensor",
    } <= named
    assert not [name for name in named if "flambeau" in name]


def test_a_plain_pickle_of_pytorch_loads_in_its_place():
    code = (
        f"import pickle, torch; p = pickle.load(open({str(DATA / 'parameter.pkl')!r}, 'rb')); "
        "print(type(p) is torch.nn.Parameter, p.tolist(), p.tag, p.requires_grad)"
    )
    done = subprocess.run(
        [sys.executable, "-m", "flambeau", "run", "-c", code], capture_output=True, text=True
    )
    assert done.stdout == "True [0.0, 0.0, 0.0] x False\n", done.stderr
