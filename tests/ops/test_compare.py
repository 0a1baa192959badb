"""Numbers that a dtype cannot hold, and gradients at bounds."""

from __future__ import annotations

import math

import pytest

import flambeau
from flambeau.nn import functional as F

NARROW = [flambeau.uint8, flambeau.int8, flambeau.int16, flambeau.int32]


@pytest.mark.parametrize("dtype", NARROW)
def test_integers_compare_as_the_numbers_they_are(dtype):
    x = flambeau.tensor([1, 100], dtype=dtype)
    for far in (2**40, -(2**40), 2**40 + 1):
        for other in (far, flambeau.tensor(far)):
            below = [far > 0] * 2
            above = [far < 0] * 2
            assert (x < other).tolist() == (x <= other).tolist() == below
            assert (x > other).tolist() == (x >= other).tolist() == above
            assert not (x == other).any() and (x != other).all()
            assert flambeau.logical_and(x, flambeau.tensor(far)).all()
    if dtype is flambeau.uint8:  # of the same width, but signed
        assert (x > flambeau.tensor(-5, dtype=flambeau.int8)).all()
    assert x.lt_(2**40).tolist() == [1, 1] and x.dtype is dtype


@pytest.mark.parametrize("dtype", NARROW)
def test_bounds_beyond_the_dtype(dtype):
    x = flambeau.tensor([3, 100], dtype=dtype)
    highest = flambeau.iinfo(dtype).max
    assert x.clamp(min=-(2**40)).tolist() == x.clamp(-(2**40), 2**40).tolist() == [3, 100]
    assert x.clamp(max=2**40).tolist() == [3, 100]
    assert x.clamp(min=2**40).tolist() == x.clamp_min(2**40).tolist() == [highest] * 2
    assert x.clone().clamp_(-(2**40), 50).tolist() == [3, 50]


def test_gradients_at_bounds_are_zero():
    x = flambeau.zeros(1, requires_grad=True)
    for f in (
        F.relu,
        F.relu6,
        lambda v: v.clamp(min=0),
        lambda v: v.clamp(max=0),
        lambda v: v.clamp(0, 1),
        lambda v: v.clamp(-1, 0),
        lambda v: F.hardtanh(v, 0, 9),
    ):
        assert flambeau.autograd.grad(f(x).sum(), x)[0].item() == 0
    # bounds that are tensors share the gradient with nobody: it goes to the tensor within
    low = flambeau.zeros(1, requires_grad=True)
    assert [g.item() for g in flambeau.autograd.grad(x.clamp(min=low).sum(), (x, low))] == [1, 0]


def test_complex_sums_keep_infinity():
    z = flambeau.tensor([complex(math.inf, 0)])
    for sum in (z + z, z - 0, flambeau.add(z, z, alpha=2), flambeau.rsub(-z, 0)):
        assert sum.tolist() == [complex(math.inf, 0)]
