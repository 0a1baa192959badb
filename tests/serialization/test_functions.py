"""Functions in files: layers keep some, such as the activation of a transformer's layer."""

from __future__ import annotations

import io
import pathlib
import pickle
import pickletools
import warnings
import zipfile

import pytest

import flambeau
from flambeau import nn
from flambeau.nn import functional as F

# A `ModuleList` written by PyTorch 2.13.
FILE = pathlib.Path(__file__).parent / "data" / "functions.pt"
FUNCTIONS = [
    F.relu, F.gelu, F.linear, F.conv2d, F.cross_entropy, F.max_pool2d, flambeau.tanh,
    flambeau.einsum, flambeau.linalg.qr, flambeau.special.expit, flambeau.fft.fft,
]  # fmt: skip


def globals_of(file):
    """The module and name of each global in a file."""
    with zipfile.ZipFile(file) as archive:
        data = archive.read(next(n for n in archive.namelist() if n.endswith("data.pkl")))
    return {arg for op, arg, _ in pickletools.genops(data) if op.name == "GLOBAL"}


def test_file_of_pytorch():
    modules = flambeau.load(FILE, weights_only=False)
    assert modules[0].activation is F.gelu and modules[1].activation is F.relu
    assert modules[2].distance_function is F.pairwise_distance
    x = flambeau.ones(3, 1, 2)
    assert modules[0](x).shape == modules[1](x).shape == x.shape
    assert modules[3](flambeau.ones(1, 2)).shape == (1, 2)
    assert modules[4].weight().shape == (2, 2)


def test_files_for_pytorch():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layer = nn.utils.spectral_norm(nn.Linear(2, 2))
    modules = [
        nn.TransformerEncoderLayer(2, 1, 2, activation=F.gelu),
        nn.TransformerDecoderLayer(2, 1, 2, activation="relu"),
        layer,
    ]
    file = io.BytesIO()
    flambeau.save(modules, file)
    names = globals_of(file)
    assert {"torch._C._nn gelu", "torch.nn.functional relu"} <= names
    assert "torch.nn.modules.module _WrappedHook" in names
    assert not [n for n in names if n.startswith("flambeau") or n.split(".")[-1].startswith("_f")]
    file.seek(0)
    loaded = flambeau.load(file, weights_only=False)
    assert loaded[0].activation is F.gelu and loaded[1].activation is F.relu
    assert not [m for m in [*loaded[0].modules()] if type(m).__module__.startswith("torch")]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_functions_pickle(function):
    assert pickle.loads(pickle.dumps(function)) is function
    file = io.BytesIO()
    flambeau.save(function, file)
    (name,) = globals_of(file)
    assert name.startswith("torch")
    file.seek(0)
    assert flambeau.load(file, weights_only=False) is function


@pytest.mark.parametrize(
    "function, name",
    [
        (flambeau.linalg.qr, "torch._C._linalg linalg_qr"),
        (flambeau.fft.fft, "torch._C._fft fft_fft"),
    ],
)
def test_operators_of_other_homes(function, name):
    file = io.BytesIO()
    flambeau.save(function, file)
    assert globals_of(file) == {name}
