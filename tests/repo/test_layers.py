"""Who may know whom. Lower layers never include or import upper ones; every module stands alone."""

from __future__ import annotations

import ast
import pathlib
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CSRC = ROOT / "csrc"
PACKAGE = ROOT / "python" / "flambeau"

# --- C++ ----------------------------------------------------------------------------------------

# Folder: folders it may include besides itself. "ops" are the generated declarations.
CPP_LAYERS = {
    "core": set(),
    "simd": set(),
    "runtime": {"core"},
    "kernels": {"core", "runtime", "simd", "ops"},
    "dispatch": {"core", "runtime"},
    "autograd": {"core", "runtime", "dispatch", "kernels", "ops"},
    "composite": {"core", "runtime", "dispatch", "kernels", "autograd", "ops"},
    "bind": {"core", "runtime", "simd", "kernels", "dispatch", "autograd", "composite", "ops"},
}
# Single includes that cross the lines, each with its reason. At most five.
CPP_EXCEPTIONS = {
    ("core", "runtime/allocator.h"): "storage takes its memory from the allocator",
    ("core", "runtime/parallel.h"): "memory moves only while no kernel reads it",
    ("kernels", "dispatch/promotion.h"): "dtype promotion: pure functions of core's types",
    ("kernels", "dispatch/state.h"): "which of two kernels: is a graph of gradients wanted?",
}
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)


def cpp_files():
    return sorted([*CSRC.rglob("*.h"), *CSRC.rglob("*.cpp")])


def includes(path):
    return INCLUDE.findall(path.read_text())


def test_every_cpp_folder_has_a_layer():
    folders = {path.relative_to(CSRC).parts[0] for path in cpp_files()}
    assert folders <= set(CPP_LAYERS)


def test_cpp_layers():
    bad = []
    for path in cpp_files():
        layer = path.relative_to(CSRC).parts[0]
        for header in includes(path):
            target = header.split("/")[0]
            known = target in CPP_LAYERS or target == "ops"
            allowed = target == layer or target in CPP_LAYERS.get(layer, ())
            if known and not allowed and (layer, header) not in CPP_EXCEPTIONS:
                bad.append(f"{path.relative_to(ROOT)} includes {header}")
    assert not bad, "\n".join(bad)


def test_python_headers_only_in_bind():
    python = re.compile(r"^(Python\.h|structmember\.h|pyconfig\.h|nanobind/.*|frameobject\.h)$")
    bad = [
        f"{path.relative_to(ROOT)} includes {header}"
        for path in cpp_files()
        if path.relative_to(CSRC).parts[0] != "bind"
        for header in includes(path)
        if python.match(header)
    ]
    assert not bad, "\n".join(bad)


def test_cpp_exceptions_are_few_and_in_use():
    used = {(p.relative_to(CSRC).parts[0], h) for p in cpp_files() for h in includes(p)}
    assert len(CPP_EXCEPTIONS) <= 5
    assert set(CPP_EXCEPTIONS) <= used, "an exception is no longer needed: remove it"


# --- Python -------------------------------------------------------------------------------------

BASE = {"_ops", "base"}
# Layer: layers it may import besides itself. "base" is _C and the private modules beside it;
# "root" is the package itself, whose import is a cycle for whatever it loads at once.
PYTHON_LAYERS = {
    "_ops": set(),
    "base": {"_ops"},
    # levels of vmap, grad and jvp: pure functions of tensors and trees
    "transforms": BASE | {"utils"},
    "autograd": BASE | {"transforms", "utils"},
    "functional": BASE | {"autograd"},
    "nn": BASE | {"autograd", "functional", "methods", "transforms", "utils"},
    "func": BASE | {"autograd", "nn", "transforms", "utils"},
    "optim": BASE | {"autograd", "utils"},
    "multiprocessing": BASE,
    "utils": BASE | {"autograd", "facade", "functional", "multiprocessing", "root"},
    "amp": BASE | {"autograd", "root"},
    "serialization": BASE | {"autograd", "root"},
    "package": BASE | {"autograd", "facade", "root", "serialization"},
    "testing": BASE | {"autograd", "root"},
    # methods of Tensor that reach up, at call time
    "methods": BASE | {"autograd", "facade"},
    # `flambeau run` and `info`
    "cli": BASE | {"root", "facade"},
    "compile": BASE | {"autograd", "root"},
    "distributed": BASE | {"autograd", "functional", "nn", "root", "utils"},
}
# Any other public module beside these: a facade over the base (linalg, fft, random, …).
FACADE = BASE | {"autograd", "functional", "root"}
EVERYTHING = {"root", "__main__", "names"}
# Modules that give what lies elsewhere the place it has in PyTorch's tree.
NAMES = {
    "_c_names", "_dynamo", "_foreach", "_functorch", "_jit_internal", "_native", "export",
    "functional", "fx", "hub", "library",
}  # fmt: skip


def module_name(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules():
    return {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def layer_of(module):
    parts = module.split(".")[1:]
    if not parts:
        return "root"
    old_layers = ("intrinsic", "qat", "quantizable", "quantized")
    if parts[0] in NAMES or (parts[0] in ("ao", "nn") and set(parts) & set(old_layers)):
        return "names"
    if parts[0] == "nn" and len(parts) > 1:
        if parts[1].lstrip("_").startswith(("functional", "reduction")):
            return "functional"
    if parts[0] == "_tensor":
        return "methods"
    if parts[1:2] == ["amp"]:  # the old names of amp: cpu.amp, cuda.amp
        return "amp"
    if parts[0] in ("_alias", "_alias_metadata", "_info"):
        return "cli"
    if parts[0] == "_transforms":
        return "transforms"
    if parts[0] == "_utils":
        return "serialization"
    if parts[0] in PYTHON_LAYERS or parts[0] in EVERYTHING:
        return parts[0]
    return "base" if parts[0].startswith("_") else "facade"


def only_for_types(node):
    """`if TYPE_CHECKING:` costs nothing at run time and makes no cycle."""
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def import_nodes(node):
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child
        elif not only_for_types(child):
            yield from import_nodes(child)


def imported(module, path, known):
    """The names of the project's modules that a file imports, at whatever depth."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in import_nodes(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.split(".")[0] == "flambeau")
            continue
        origin = node.module or ""
        if node.level:
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            origin = ".".join([*above, *filter(None, [origin])])
        if origin.split(".")[0] != "flambeau":
            continue
        for alias in node.names:
            full = f"{origin}.{alias.name}"
            yield full if full in known or full == "flambeau._C" else origin


def test_python_layers():
    known = modules()
    bad = []
    for module, path in known.items():
        layer = layer_of(module)
        if layer in EVERYTHING:
            continue
        allowed = PYTHON_LAYERS.get(layer, FACADE) | {layer}
        bad.extend(
            f"{module} ({layer}) imports {target} ({layer_of(target)})"
            for target in imported(module, path, known)
            if layer_of(target) not in allowed
        )
    assert not bad, "\n".join(bad)


def test_table_uses_only_the_standard_library():
    for path in (PACKAGE / "_ops").rglob("*.py"):
        for node in import_nodes(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = [a.name for a in node.names]
            else:
                names = [] if node.level else [node.module]
            outside = {n.split(".")[0] for n in names} - set(sys.stdlib_module_names)
            assert not outside, f"{path.name} imports {outside}"


@pytest.mark.slow
def test_each_module_imports_alone():
    names = [m for m in modules() if not m.endswith("__main__")]

    def load(name):
        done = subprocess.run(
            [sys.executable, "-c", f"import {name}"], capture_output=True, text=True, timeout=120
        )
        return "" if done.returncode == 0 else f"{name}: {done.stderr.strip().splitlines()[-1]}"

    with ThreadPoolExecutor(2) as pool:
        failed = list(filter(None, pool.map(load, names)))
    assert not failed, "\n".join(failed)
