"""Which dtype autocast gives each operator, against what PyTorch 2.13 does on the CPU."""

from __future__ import annotations

import json
import math
import pathlib

import pytest

import flambeau
from flambeau._ops import OPS

# [expression, result dtypes (or None where PyTorch refuses) for each of REGIONS]
CASES = json.loads((pathlib.Path(__file__).parent / "data" / "policy.json").read_text())
# autocast's dtype, the inputs' dtype
REGIONS = [("bfloat16", "float32"), ("bfloat16", "bfloat16"), ("float16", "float32")]


def names(dtype):
    """What the expressions are made of."""

    def numbers(shape, low, high):
        steps = [(k + 1) * 0.6180339887498949 % 1.0 for k in range(math.prod(shape))]
        return [low + (high - low) * s for s in steps]

    def x(*shape, low=-3.0, high=3.0):
        return flambeau.tensor(numbers(shape, low, high)).reshape(shape).to(dtype)

    def n(*shape, low=0, high=3):
        whole = [math.floor(v) for v in numbers(shape, low, high + 0.999)]
        return flambeau.tensor(whole, dtype=flambeau.int64).reshape(shape)

    def spd(k):
        rows = [[4.0 if i == j else 0.25 for j in range(k)] for i in range(k)]
        return flambeau.tensor(rows).to(dtype)

    return {"t": flambeau, "F": flambeau.nn.functional, "x": x, "n": n, "spd": spd}


def dtypes(value):
    if isinstance(value, flambeau.Tensor):
        return [str(value.dtype).removeprefix("torch.")]
    if isinstance(value, (list, tuple)):
        return [d for v in value for d in dtypes(v)]
    return []


@pytest.mark.parametrize("expression, expected", CASES, ids=[c[0][:60] for c in CASES])
def test_dtypes_of_results(expression, expected):
    for region, want in zip(REGIONS, expected, strict=True):
        if want is None:
            continue
        lower, dtype = (getattr(flambeau, name) for name in region)
        with flambeau.autocast("cpu", dtype=lower):
            result = eval(expression, names(dtype))
        assert dtypes(result) == want, region


def test_every_policy_has_a_case():
    text = " ".join(expression for expression, _ in CASES)
    called = {
        op.name: {op.base, op.base.removeprefix("linalg_"), op.base.removeprefix("fft_")}
        | {alias.rpartition(".")[2] for alias in op.alias}
        for op in OPS.values()
        if op.tag("autocast") and "internal" not in op.tags
    }
    assert len(called) > 80
    missing = [name for name, ways in called.items() if not any(f"{w}(" in text for w in ways)]
    assert missing == []


def test_arguments_that_do_not_take_part():
    a = flambeau.ones(2, 2)
    with flambeau.autocast("cpu"):
        for dtype in (flambeau.float64, flambeau.int64, flambeau.complex64):
            assert (a.to(dtype) @ a.to(dtype)).dtype == dtype
        meta = a.to("meta")
        assert (meta @ meta).dtype == flambeau.float32


def test_wider_dtype_that_autocast_does_not_know():
    half = flambeau.ones(2, dtype=flambeau.float16)
    with flambeau.autocast("cpu", dtype=flambeau.bfloat16):
        with pytest.raises(RuntimeError, match="cat: Unexpected floating ScalarType"):
            flambeau.cat([half, half])
