"""Modules under autocast: dtype and values of outputs, gradients, against PyTorch 2.13.

Both sides round to bfloat16 at the same places, but sum in other orders before they do: a
difference of one unit in the last place of some intermediate result is expected.
"""

from __future__ import annotations

import json
import math
import pathlib

import pytest

import flambeau

CASES = json.loads((pathlib.Path(__file__).parent / "data" / "modules.json").read_text())
F = flambeau.nn.functional


def filled(*shape, low=-1.0, high=1.0):
    count = math.prod(shape)
    steps = [(k + 1) * 0.6180339887498949 % 1.0 for k in range(count)]
    return flambeau.tensor([low + (high - low) * s for s in steps]).reshape(shape)


def close(got, want):
    want = flambeau.tensor(want).reshape(got.shape)
    scale = max(float(want.abs().max()), 1e-3) if want.numel() else 1.0
    assert float((got.float() - want).abs().max()) <= 2**-7 * scale


@pytest.mark.parametrize("case", CASES, ids=[c["name"] for c in CASES])
def test_module(case):
    module = eval(case["module"], {"nn": flambeau.nn})
    with flambeau.no_grad():
        for i, p in enumerate(module.parameters()):
            p.copy_(filled(*p.shape, low=-0.5 + 0.01 * i, high=0.6))
    leaves = []

    def x(*shape):
        leaves.append(filled(*shape).requires_grad_())
        return leaves[-1]

    with flambeau.autocast("cpu", dtype=flambeau.bfloat16):
        out = eval(case["call"], {"m": module, "x": x, "t": flambeau, "F": F})
    assert str(out.dtype) == "torch." + case["dtype"] and list(out.shape) == case["shape"]
    close(out.detach(), case["values"])
    (out.float() * filled(*out.shape, low=0.5, high=1.5)).sum().backward()
    leaves += module.parameters()
    for leaf, want in zip(leaves, case["grads"], strict=True):
        if want is None:
            assert leaf.grad is None
            continue
        assert leaf.grad.dtype == leaf.dtype == flambeau.float32
        close(leaf.grad, want)
