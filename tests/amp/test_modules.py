"""Modules under autocast: dtype and values of outputs, gradients, against PyTorch 2.13.

Both sides round to bfloat16 at the same places, but sum in other orders before they do.
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


def run(case, amp):
    """The result, and the leaves after its backward pass."""
    module = eval(case["module"], {"nn": flambeau.nn})
    with flambeau.no_grad():
        for i, p in enumerate(module.parameters()):
            p.copy_(filled(*p.shape, low=-0.5 + 0.01 * i, high=0.6))
    leaves = []

    def x(*shape):
        leaves.append(filled(*shape).requires_grad_())
        return leaves[-1]

    with flambeau.autocast("cpu", dtype=flambeau.bfloat16, enabled=amp):
        out = eval(case["call"], {"m": module, "x": x, "t": flambeau, "F": F})
    (out.float() * filled(*out.shape, low=0.5, high=1.5)).sum().backward()
    return out.detach(), [*leaves, *module.parameters()]


def check(got, want, exact):
    """Not farther from PyTorch's numbers than those are from the ones of float32."""
    want = flambeau.tensor(want).reshape(got.shape)
    rounding = 2**-7 * max(float(want.abs().max()), 1e-3)
    allowed = max(rounding, float((want - exact).abs().max()))
    assert float((got.float() - want).abs().max()) <= allowed


@pytest.mark.parametrize("case", CASES, ids=[c["name"] for c in CASES])
def test_module(case):
    out, leaves = run(case, True)
    exact, exact_leaves = run(case, False)
    assert str(out.dtype) == "torch." + case["dtype"] and list(out.shape) == case["shape"]
    check(out, case["values"], exact)
    for leaf, exact, want in zip(leaves, exact_leaves, case["grads"], strict=True):
        if want is None:
            assert leaf.grad is None
            continue
        assert leaf.grad.dtype == leaf.dtype == flambeau.float32
        check(leaf.grad, want, exact.grad)
