"""`PackageImporter` on an archive of PyTorch's PackageExporter (data/package.pt, by 2.13.0).

It holds the modules ``pkmod`` (interned: class Net with a Linear ``l``, function double) and
``extra.sub``, the pickles model/model.pkl (a Net) and model/w.pkl (two tensors), model/t.txt and
model/b.bin, and lists torch as external.
"""

from __future__ import annotations

import io
import pathlib
import pickle
import sys

import pytest

import flambeau
from flambeau.package import PackageImporter, is_from_package

FILE = pathlib.Path(__file__).parent / "data" / "package.pt"


def test_resources():
    package = PackageImporter(FILE)
    assert package.load_text("model", "t.txt") == "hello é"
    assert package.load_binary("model", "b.bin") == b"\x00\x01"
    assert package.python_version().startswith("3.") and "model/w.pkl" in package.file_names()
    assert package.get_source("pkmod").startswith("import torch\n")
    assert not package._modules  # nothing has run
    with pytest.raises(RuntimeError, match="'model/no.txt' is missing"):
        package.load_text("model", "no.txt")
    with pytest.raises(ValueError, match="without folders"):
        package.load_text("model", "../t.txt")
    with pytest.raises(ModuleNotFoundError):
        package.get_source("no")


def test_pickles():
    package = PackageImporter(io.BytesIO(FILE.read_bytes()))
    net = package.load_pickle("model", "model.pkl")
    assert net(flambeau.ones(1, 2)).tolist() == [[1.5, 1.5]]
    assert isinstance(net, flambeau.nn.Module) and is_from_package(net) and not is_from_package(3)
    assert type(net).__module__ == f"{package.id()}.pkmod" and "pkmod" not in sys.modules
    assert is_from_package(package.import_module("pkmod"))
    assert package.load_pickle("model", "w.pkl")["w"].tolist() == [1, 1, 1]
    assert package.load_pickle("model", "w.pkl", map_location="meta")["w"].is_meta
    other = PackageImporter(FILE)
    assert type(other.load_pickle("model", "model.pkl")) is not type(net)


def test_restricted_pickles():
    package = PackageImporter(FILE)
    assert package.load_pickle("model", "w.pkl", weights_only=True)["v"].tolist() == [1, 1, 1]
    with pytest.raises(pickle.UnpicklingError, match="Unsupported global: GLOBAL pkmod.Net"):
        package.load_pickle("model", "model.pkl", weights_only=True)
    assert not package._modules


def test_modules():
    package = PackageImporter(FILE)
    sub = package.import_module("extra.sub")
    assert sub.X == 3 and sub.double(4) == 8
    assert package.import_module("extra").sub is sub
    assert package.import_module(".sub", "extra") is sub
    assert package.import_module("torch.nn") is flambeau.nn
    with pytest.raises(ModuleNotFoundError, match="not in the list of allowed external"):
        package.import_module("json")
    with pytest.raises(ImportError, match="'torch' but that module has been disallowed"):
        PackageImporter(FILE, module_allowed=lambda name: name != "torch")


def test_load_refuses_a_package():
    with pytest.raises(RuntimeError, match="torch.package archive; use flambeau.package"):
        flambeau.load(FILE)
