"""Gradients per sample against a loop of backward passes."""

from __future__ import annotations

import doctest

import pytest

import flambeau as fb
from flambeau import nn
from flambeau.nn.utils import _per_sample_grad
from flambeau.nn.utils._per_sample_grad import call_for_per_sample_grads

CASES = {
    "linear": (lambda: nn.Linear(3, 2), (4, 5, 3)),
    "conv1d": (lambda: nn.Conv1d(4, 6, 3, padding="same", groups=2), (4, 4, 7)),
    "conv2d": (lambda: nn.Conv2d(2, 3, 3, stride=2, padding=1), (4, 2, 6, 6)),
    "conv3d": (lambda: nn.Conv3d(1, 2, 2), (4, 1, 3, 3, 3)),
    "layer_norm": (lambda: nn.LayerNorm(3), (4, 5, 3)),
    "group_norm": (lambda: nn.GroupNorm(2, 4), (4, 4, 5)),
    "instance_norm": (lambda: nn.InstanceNorm1d(3, affine=True), (4, 3, 5)),
    "embedding": (lambda: nn.Embedding(7, 3, padding_idx=1), None),
}


@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("name", CASES)
def test_as_a_loop(name, reduction):
    fb.manual_seed(0)
    make, shape = CASES[name]
    module = make()
    x = fb.randint(0, 7, (4, 5)) if shape is None else fb.randn(shape, requires_grad=True)
    loss = module(x).square().flatten(1).sum(1)
    expected = [fb.autograd.grad(one, list(module.parameters()), retain_graph=True) for one in loss]
    through = None if shape is None else fb.autograd.grad(getattr(loss, reduction)(), x)[0]
    out = call_for_per_sample_grads(module, loss_reduction=reduction)(x)
    getattr(out.square().flatten(1).sum(1), reduction)().backward()
    for p, rows in zip(module.parameters(), zip(*expected, strict=True), strict=True):
        assert p.grad is None
        fb.testing.assert_close(p.grad_sample, fb.stack(rows), rtol=1e-4, atol=1e-5)
    if through is not None:
        fb.testing.assert_close(x.grad, through, rtol=1e-4, atol=1e-5)


def test_errors():
    x, layer = fb.randn(4, 3), nn.Linear(3, 2)
    with pytest.raises(RuntimeError, match="batch size"):
        call_for_per_sample_grads(layer, batch_size=3)(x)
    with pytest.raises(RuntimeError, match="cannot handle function"):
        call_for_per_sample_grads(nn.PReLU())(x)
    layer.weight.grad_sample = x
    with pytest.raises(RuntimeError, match="grad_sample"):
        call_for_per_sample_grads(layer)


class Twice(nn.Linear):
    def forward(self, x):
        once = nn.functional.linear(x, self.weight, self.bias).tanh()
        return nn.functional.linear(once, self.weight, self.bias)


def test_a_weight_used_twice_adds_up_and_frozen_ones_are_left():
    twice, x = Twice(3, 3), fb.randn(4, 3)
    twice.bias.requires_grad_(False)
    expected = [fb.autograd.grad(twice(row).sum(), twice.weight)[0] for row in x]
    call_for_per_sample_grads(twice)(x).sum().backward()
    fb.testing.assert_close(twice.weight.grad_sample, fb.stack(expected), rtol=1e-4, atol=1e-5)
    assert getattr(twice.bias, "grad_sample", None) is None


def test_samples_along_the_second_dimension():
    layer, x = nn.Linear(3, 2), fb.randn(5, 4, 3)
    expected = [fb.autograd.grad(layer(x[:, i]).exp().sum(), layer.weight)[0] for i in range(4)]
    call_for_per_sample_grads(layer, batch_first=False)(x).exp().sum().backward()
    fb.testing.assert_close(layer.weight.grad_sample, fb.stack(expected), rtol=1e-4, atol=1e-5)


def test_example():
    result = doctest.testmod(_per_sample_grad, extraglobs={"flambeau": fb})
    assert result.attempted and not result.failed
