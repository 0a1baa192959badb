"""Errors of the pointwise functions against values of 50 digits, and their values at odd arguments.

tests/ops/data/accuracy.npz comes from `python tools/ulp.py --store`; special_values.json holds what
PyTorch 2.13 gives at infinities, NaN, signed zeros and subnormal numbers.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import pathlib
import subprocess
import sys

import numpy
import pytest

import flambeau

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
spec = importlib.util.spec_from_file_location("ulp", ROOT / "tools" / "ulp.py")
ulp = importlib.util.module_from_spec(spec)
spec.loader.exec_module(ulp)


@pytest.fixture(scope="module")
def data():
    with numpy.load(HERE / "data" / "accuracy.npz") as stored:
        return dict(stored)


def largest_error(data, name, dtype):
    xs = data[f"{name}/{dtype}/x"]
    high = data[f"{name}/{dtype}/high"]
    low = data.get(f"{name}/{dtype}/low", numpy.zeros(len(xs))) * numpy.spacing(abs(high))
    pairs = list(zip(high.tolist(), low.tolist()))
    return ulp.errors(ulp.function(name), xs.tolist(), pairs, dtype)


@pytest.mark.parametrize("name", ulp.FUNCTIONS)
def test_float32(data, name):
    error, at = largest_error(data, name, "float32")
    limit = ulp.LIMITS["float32"].get(name, ulp.LIMIT)
    assert error <= limit, f"{name}{at!r} is {error:.2f} ULP off"


@pytest.mark.parametrize("name", ulp.FUNCTIONS)
def test_float64(data, name):
    error, at = largest_error(data, name, "float64")
    limit = ulp.LIMITS["float64"].get(name, 8)
    assert error <= limit, f"{name}{at!r} is {error:.2f} ULP off"


def test_every_pointwise_function_is_measured():
    from flambeau._ops.table import OPS

    measured = {n.split("(")[0] for n in ulp.FUNCTIONS}
    measured |= {"log_sigmoid", "polygamma", "special.modified_bessel_i0", *ulp.EXACT}
    measured |= {"special.modified_bessel_i1", "special.i0"}  # under other names
    missing = [
        o.name
        for o in OPS.values()
        if o.kernel.kind == "pointwise" and "f" in o.on and o.dtype != "bool"
        if "internal" not in o.tags and not o.base.endswith("_backward")
        if o.base.replace("special_", "special.") not in measured and not measured & set(o.alias)
    ]
    assert missing == []


# ---- odd arguments -------------------------------------------------------------------------------

VALUES = json.loads((HERE / "data" / "special_values.json").read_text())
# Functions that are odd, also at -0.0, where PyTorch gives 0.0.
ODD = {"special.i1", "special.i1e", "special.modified_bessel_i1"}


def number(text):
    return float(text) if text in ("inf", "-inf", "nan") else float.fromhex(text)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [n for n in VALUES["float32"] if n != "x"])
def test_odd_arguments(name, dtype):
    xs = [number(x) for x in VALUES[dtype]["x"]]
    wants = [number(w) for w in VALUES[dtype][name]]
    gots = ulp.function(name)(flambeau.tensor(xs, dtype=getattr(flambeau, dtype))).tolist()
    for x, want, got in zip(xs, wants, gots):
        where = f"{name}({x!r}) = {got!r}, not {want!r}"
        if math.isnan(want):
            assert math.isnan(got), where
        elif math.isinf(want):
            assert got == want, where
        else:
            # PyTorch computes sin(pi x) of a rounded angle: not zero at integers.
            assert got == pytest.approx(want, rel=2e-5, abs=1e-6 if name == "sinc" else 1e-12), (
                where
            )
            if want == 0 and x == 0:
                sign = x if name in ODD else want
                assert math.copysign(1, got) == math.copysign(1, sign), where


# ---- two arguments -------------------------------------------------------------------------------

TWO = json.loads((HERE / "data" / "two_arguments.json").read_text())


@pytest.mark.parametrize("name", TWO)
def test_two_arguments(name):
    """Values of mpmath at 50 digits; the saddle-point exponent of large arguments costs digits."""
    function = ulp.function(name)
    for a, x, want in TWO[name]:
        at = flambeau.tensor([x], dtype=flambeau.float64)
        first = a if name == "polygamma" else flambeau.tensor([a], dtype=flambeau.float64)
        got = function(first, at).item()
        assert got == pytest.approx(number(want), rel=1e-12), f"{name}({a!r}, {x!r})"


# ---- instruction sets ----------------------------------------------------------------------------

PRINT_BITS = """
import sys
sys.path.insert(0, {tools!r})
import hashlib, json, ulp, flambeau
out = {{}}
for name in ulp.FUNCTIONS:
    for dtype in ulp.MAX:
        points = ulp.arguments(name, dtype, 300)
        bits = ulp.function(name)(*ulp.tensors(points, dtype)).numpy().tobytes()
        out[name + " " + dtype] = hashlib.sha256(bits).hexdigest()
print(json.dumps(out))
"""


def test_results_are_equal_on_all_instruction_sets():
    found = []
    for target in ("baseline", "avx2", ""):
        environment = {**os.environ, "FLAMBEAU_CPU": target}
        code = PRINT_BITS.format(tools=str(ROOT / "tools"))
        run = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        found.append(json.loads(run.stdout))
    for other in found[1:]:
        assert {n for n in other if other[n] != found[0][n]} == set()
