"""Expressions and what PyTorch 2.13 gives for them: values, dtypes, shapes, kinds of errors.

Each is a case that once came out differently here.
"""

from __future__ import annotations

import json
import math
import pathlib

import pytest

import flambeau

CASES = json.loads((pathlib.Path(__file__).parent / "data" / "recorded.json").read_text())
NAMES = {"t": flambeau, "F": flambeau.nn.functional, "math": math}


def same(got, expected):
    if isinstance(expected, list):
        assert len(got) == len(expected)
        for g, e in zip(got, expected, strict=True):
            same(g, e)
    elif isinstance(expected, dict):
        assert str(got.dtype) == "torch." + expected["dtype"]
        assert list(got.shape) == expected["shape"]
        values = [complex(v) if isinstance(v, str) else v for v in expected["values"]]
        wide = flambeau.complex128 if values and isinstance(values[0], complex) else got.dtype
        want = flambeau.tensor(values, dtype=wide).reshape(got.shape)
        tolerance = 1e-5 if wide != got.dtype else 0
        flambeau.testing.assert_close(
            got.detach().to(wide), want, rtol=tolerance, atol=tolerance, equal_nan=True
        )
    else:
        assert type(got) is type(expected) and got == expected


@pytest.mark.parametrize("expression, expected", CASES, ids=[c[0][:80] for c in CASES])
def test_recorded(expression, expected):
    if isinstance(expected, dict) and "raises" in expected:
        with pytest.raises(Exception) as info:
            eval(expression, dict(NAMES))
        assert type(info.value).__name__ == expected["raises"]
    else:
        same(eval(expression, dict(NAMES)), expected)
