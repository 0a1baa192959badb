"""One entry in the table is all that a new pointwise operator needs.

The test copies the sources, adds an entry, builds and uses the operator in every form that the
entry names. The build is the ordinary one, by CMake and ninja; but sources whose text is unchanged
take their object from the build of the checkout, so that it lasts seconds instead of minutes.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import flambeau

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = pathlib.Path(flambeau.__file__).parent
ENTRY = '''
op(
    "soft_bound(Tensor self, Scalar bound=2) -> Tensor",
    kernel=pointwise("bound * tanh(x / bound)"),
    dtype="float",
    on="f",
    grad={"self": "grad * (1 - square(result / bound))"},
    forms="function method inplace out",
    alias="smooth_clip special.soft_bound",
    samples=[*unary(), (T(2, 3), 0.5)],
    ref="bound * numpy.tanh(self / bound)",
    doc="Bends each element smoothly into (-bound, bound).",
    example="""
        >>> flambeau.soft_bound(flambeau.tensor([0.0, 100.0]), 3.0)
        tensor([0., 3.])
    """,
)
'''
# Sources that hold generated text about the family `activation`, one of them per instruction set.
CONCERNED = {
    "bind_activation.cpp", "bind_registry.cpp", "dispatch_activation.cpp",
    "loops_activation.simd.cpp",
}  # fmt: skip

USE = """
import json, math
import flambeau
from flambeau.autograd import gradcheck, gradgradcheck

x = flambeau.tensor([[-3.0, -0.5, 0.0], [0.25, 2.0, 40.0]])
want = flambeau.tensor([[2 * math.tanh(v / 2) for v in row] for row in x.tolist()])
facts = {}


def fact(name, value):
    facts[name] = bool(value)


result = flambeau.soft_bound(x)
fact("function", flambeau.allclose(result, want))
fact("keyword", flambeau.equal(flambeau.soft_bound(input=x, bound=2.0), result))
fact("method", flambeau.equal(x.soft_bound(), result))
fact("alias", flambeau.equal(flambeau.smooth_clip(x), result))
fact("namespace", flambeau.equal(flambeau.special.soft_bound(x), result))
changed = x.clone()
fact("in place", changed.soft_bound_() is changed and flambeau.equal(changed, result))
out = flambeau.empty(0)
fact("out", flambeau.soft_bound(x, out=out) is out and flambeau.equal(out, result))
fact("strides", flambeau.equal(x.T.soft_bound(), result.T))
fact("integers", flambeau.allclose(flambeau.tensor([3]).soft_bound(), -want[0, :1]))
meta = x.to("meta").soft_bound()
fact("meta", meta.is_meta and meta.shape == x.shape and meta.dtype == x.dtype)
for dtype in (flambeau.float16, flambeau.bfloat16):
    low = x.to(dtype)
    fact(str(dtype), flambeau.equal(low.soft_bound(), low.float().soft_bound().to(dtype)))
d = flambeau.randn(2, 3, dtype=flambeau.float64, requires_grad=True)
fact("gradcheck", gradcheck(flambeau.soft_bound, (d,)))
fact("gradgradcheck", gradgradcheck(flambeau.soft_bound, (d,)))
fact("node", d.soft_bound().grad_fn.name() == "SoftBoundBackward0")
leaf = d.detach().clone().requires_grad_()
(leaf * 1).soft_bound_().sum().backward()
fact("gradient in place", flambeau.allclose(leaf.grad, 1 - (d / 2).tanh() ** 2))
try:
    flambeau.soft_bound(x.to(flambeau.complex64))
except (RuntimeError, NotImplementedError) as error:
    fact("refusal", "soft_bound" in str(error))
fact("help", "smoothly into" in flambeau.soft_bound.__doc__)
print(json.dumps(facts))
"""


def built_from():
    """The build tree of the extension that runs, and its CMake cache; skips without one."""
    for cache in sorted(ROOT.glob("build*/CMakeCache.txt")):
        lines = [line.partition("=") for line in cache.read_text().splitlines()]
        values = {key.partition(":")[0]: value for key, _, value in lines}
        if pathlib.Path(values.get("FLAMBEAU_PACKAGE_DIR", "")) == PACKAGE:
            return cache.parent, values
    pytest.skip(f"no build tree in {ROOT} made the extension of {PACKAGE}: `make build` does")


def run(command, **options):
    done = subprocess.run(
        [str(c) for c in command], capture_output=True, text=True, timeout=600, **options
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def copy_sources(target):
    skip = shutil.ignore_patterns("__pycache__", "_C.*", "lib")
    for name in ("csrc", "opgen", "python", "tests/ops", "tools"):
        shutil.copytree(ROOT / name, target / name, ignore=skip)
    for name in ("CMakeLists.txt", "pyproject.toml", "tests/conftest.py"):
        shutil.copy(ROOT / name, target / name)
    family = target / "python/flambeau/_ops/activation.py"
    imports = "from .samples import binary, unary"
    text = family.read_text()
    assert imports in text
    family.write_text(text.replace(imports, "from .samples import T, binary, unary") + ENTRY)


def configure_and_build(copy, build, cache):
    """Builds the copy; returns the names of the sources that went through the compiler."""
    launcher = f"{sys.executable};-S;{ROOT / 'tests/repo/reuse_object.py'}"
    kept = ("CMAKE_BUILD_TYPE", "CMAKE_CXX_COMPILER", "CMAKE_CXX_FLAGS", "CMAKE_MAKE_PROGRAM",
            "FLAMBEAU_ONEDNN", "FLAMBEAU_SANITIZE", "FLAMBEAU_SIMD",
            "Python_EXECUTABLE")  # fmt: skip
    options = [f"-D{name}={cache[name]}" for name in kept if cache.get(name)]
    log = copy / "compiled.txt"
    environment = {
        **os.environ,
        "REUSE_BUILD": str(build),
        "REUSE_SOURCES": f"{copy}/build={build}:{copy}={ROOT}",
        "REUSE_LOG": str(log),
    }
    cmake = [cache["CMAKE_COMMAND"], "-S", copy, "-B", copy / "build", "-G", "Ninja"]
    run([*cmake, f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}", *options], env=environment)
    check_headers(copy / "build", build)
    run([cache["CMAKE_COMMAND"], "--build", copy / "build", "-j", "2"], env=environment)
    return sorted(log.read_text().splitlines())


def check_headers(new, old):
    """The headers say about all other operators what they said before."""
    for header in (new / "generated").rglob("*.h"):
        before = (old / header.relative_to(new)).read_text().splitlines()
        rest = [line for line in header.read_text().splitlines() if "soft_bound" not in line]
        assert rest == before, f"{header.name} changed in more than the new operator"


def up_to_date():
    linked = pathlib.Path(flambeau._C.__file__).stat().st_mtime
    return all(path.stat().st_mtime <= linked for path in (ROOT / "csrc").rglob("*.*"))


def in_copy(folder, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(folder / "python")}
    return run([sys.executable, *arguments], env=environment, cwd=folder)


def check_every_form(folder):
    facts = json.loads(in_copy(folder, "-c", USE))
    assert len(facts) == 18
    assert not [name for name, holds in facts.items() if not holds]


def check_stub_and_reference(folder):
    stub = (folder / "python/flambeau/_C.pyi").read_text()
    assert "def soft_bound(self, bound: _Number = ...) -> Tensor: ..." in stub
    assert "def soft_bound_(self, bound: _Number = ...) -> Tensor: ..." in stub
    assert "def smooth_clip(input: Tensor, bound: _Number = ..., *, out: Tensor" in stub
    in_copy(folder, "tools/reference.py", "--out", folder / "reference")
    page = (folder / "reference/activation.md").read_text()
    assert "## soft_bound" in page and "Bends each element smoothly" in page
    assert ">>> flambeau.soft_bound(" in page


def check_tests_of_its_samples(folder):
    select = ["-m", "pytest", "-p", "no:cacheprovider", "-n0", "tests/ops/test_table.py"]
    text = in_copy(folder, *select, "-k", "soft_bound", "-v")
    for name in (
        "test_value_is_the_reference[soft_bound-float32]",
        "test_value_is_the_reference[soft_bound-bfloat16]",
        "test_is_bound[soft_bound]",
        "test_forms_agree[soft_bound]",
        "test_out[soft_bound]",
        "test_inplace[soft_bound]",
        "test_strides_do_not_matter[soft_bound-float64]",
        "test_meta_gives_shape_and_dtype[soft_bound]",
        "test_derivatives[soft_bound-float64]",
        "test_public_functions_have_docs[soft_bound]",
    ):
        assert f"{name} PASSED" in text, text


# One test, because parallel workers would build a copy each.
@pytest.mark.slow
def test_one_entry_is_all_that_an_operator_needs(tmp_path):
    build, cache = built_from()
    if not up_to_date():
        pytest.skip(f"{build} is older than the sources: `make build` first")
    copy_sources(tmp_path)
    compiled = configure_and_build(tmp_path, build, cache)
    assert set(compiled) == CONCERNED
    check_every_form(tmp_path)
    check_stub_and_reference(tmp_path)
    check_tests_of_its_samples(tmp_path)
    shutil.rmtree(tmp_path)  # pytest would keep it
