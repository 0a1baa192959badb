"""What the build writes from the table: the same each time, and complete."""

from __future__ import annotations

import ast
import os
import pathlib
import subprocess
import sys

import pytest

import flambeau
from flambeau._ops import OPS

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = pathlib.Path(flambeau.__file__).parent


def generate(folder, seed):
    """Runs the generator with its own order of sets."""
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    command = [sys.executable, "-B", ROOT / "opgen/main.py", "--out", folder / "generated"]
    subprocess.run([*command, "--stub", folder / "_C.pyi"], check=True, env=environment)
    return {path.relative_to(folder): path.read_text() for path in folder.rglob("*.*")}


def test_generator_always_writes_the_same(tmp_path):
    # Text that changes by chance compiles again by chance.
    first, second = (generate(tmp_path / str(seed), seed) for seed in (1, 2))
    assert first.keys() == second.keys()
    assert not [str(path) for path in first if first[path] != second[path]]


@pytest.fixture(scope="module")
def stub():
    """{"ops": names, "Tensor": names, "": names} of `_C.pyi`."""
    tree = ast.parse((PACKAGE / "_C.pyi").read_text())
    scopes = {"": tree, **{n.name: n for n in tree.body if isinstance(n, ast.ClassDef)}}
    return {scope: set(defined(node)) for scope, node in scopes.items()}


def defined(node):
    for child in node.body:
        if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
            yield child.name
        elif isinstance(child, ast.AnnAssign):
            yield child.target.id


def test_package_has_types():
    assert (PACKAGE / "py.typed").exists()
    assert (PACKAGE / "_C.pyi").exists()


def test_stub_names_every_operator(stub):
    assert set(flambeau._C._public) <= stub["ops"]
    assert {o.base for o in OPS.values()} <= stub["ops"]
    for o in OPS.values():
        if o.has("method"):
            assert o.base in stub["Tensor"], o.name
        if o.has("inplace"):
            assert o.base + "_" in stub["Tensor"] & stub["ops"], o.name


def test_stub_names_what_the_extension_has(stub):
    functions = {name for name in dir(flambeau._C.ops) if not name.startswith("__")}
    assert stub["ops"] == functions
    public = {name for name in dir(flambeau._C) if not name.startswith("_")}
    assert public <= stub[""]
    written_in_c = {n for n, v in vars(flambeau.Tensor).items() if not hasattr(v, "__code__")}
    promised = {n for n in stub["Tensor"] if not n.startswith("__")} - {"layout", "grad"}
    assert promised <= written_in_c | set(dir(flambeau.Tensor))


def test_stub_types_a_program(tmp_path, monkeypatch):
    mypy = pytest.importorskip("mypy.api")
    if PACKAGE.parent.name != "site-packages":  # there mypy finds it by itself
        monkeypatch.setenv("MYPYPATH", str(PACKAGE.parent))
    program = tmp_path / "program.py"
    program.write_text(
        "from flambeau._C import Tensor, float32, ops\n"
        "x = ops.ones([2, 3], dtype=float32)\n"
        "reveal_type(x.add_(1) @ x.T * 2.0)\n"
        "reveal_type(x.view(3, 2).max(0))\n"
        "reveal_type(x.sum().item())\n"
        "x.relu(0.5)\n"
    )
    options = ["--config-file=", "--cache-dir", str(tmp_path / "cache"), "--no-color"]
    text, _, _ = mypy.run([*options, "--follow-imports=silent", str(program)])
    lines = [line.partition(": ")[2] for line in text.splitlines()]
    assert "Tensor" in lines[0] and "tuple" not in lines[0], text
    assert "tuple[" in lines[1], text
    assert "Too many arguments" in text and len(lines) == 5, text
