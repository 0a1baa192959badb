"""`grad_fn.name()` of results is PyTorch 2.13's."""

from __future__ import annotations

import json
import pathlib

import pytest

import flambeau

CASES = json.loads((pathlib.Path(__file__).parent / "data" / "node_names.json").read_text())


@pytest.mark.parametrize("expression, name", CASES, ids=[c[0] for c in CASES])
def test_name(expression, name):
    given = {
        "t": flambeau,
        "x": flambeau.randn(4, 4, requires_grad=True),
        "v": flambeau.randn(4, requires_grad=True),
        "b3": flambeau.randn(2, 4, 4, requires_grad=True),
        "c": flambeau.randn(4, 4, dtype=flambeau.complex64, requires_grad=True),
    }
    result = eval(expression, given)
    assert result.grad_fn.name() == name
    assert type(result.grad_fn).__name__ == name.rpartition(":")[2]
    result.sum().backward() if not result.is_complex() else result.abs().sum().backward()


def test_results_that_are_inputs_keep_their_history():
    y = flambeau.randn(3, requires_grad=True) * 2
    for same in (y.conj(), y.positive(), y.contiguous(), y.to(flambeau.float32)):
        assert same.grad_fn.name() == "MulBackward0"
