"""Input that is unusual, and what other libraries' users find natural."""

from __future__ import annotations

import math

import numpy as np
import pytest

import flambeau


def test_views_made_before_their_base_gets_a_history():
    y, x = flambeau.ones(2), flambeau.ones(1, requires_grad=True)
    v = y[0:1]
    y.mul_(x * 3)
    assert v.requires_grad and not v.is_leaf
    ((v * v).sum() + x.sum()).backward()
    assert x.grad.tolist() == [19.0]
    rows_of, w = flambeau.zeros(2, 3), flambeau.ones(3, requires_grad=True)
    rows = [rows_of[0], rows_of[1]]
    rows_of[0] = w * 2
    (rows[0].sum() + w.sum()).backward()
    assert w.grad.tolist() == [3.0] * 3
    y = flambeau.ones(2)
    v = y[0:1]
    y.mul_(x)
    v.register_hook(lambda g: g * 2)
    v.sum().backward()
    assert x.grad.tolist() == [21.0]
    leaf = flambeau.ones(4)[:2].requires_grad_()
    with pytest.raises(RuntimeError, match="leaf Variable"):
        leaf.mul_(2)


def test_numbers_beyond_int64():
    x = flambeau.ones(2)
    assert (x * 2**63).tolist() == [2.0**63] * 2 and (x < 2**63).all()
    assert flambeau.tensor([1]).lt(2**63).all() and x.clamp(max=2**63).tolist() == [1.0, 1.0]
    assert flambeau.full((), 2**64 - 1, dtype=flambeau.float64).item() == 2.0**64
    with pytest.raises(RuntimeError, match="without overflow"):
        flambeau.full((2,), 2**63)
    with pytest.raises(OverflowError):
        x * 2**64


@pytest.mark.parametrize(
    "call",
    [
        lambda: flambeau.full((2,), 1e40),
        lambda: flambeau.full((2,), 1j, dtype=flambeau.float32),
        lambda: flambeau.ones(2, dtype=flambeau.uint8).add(1, alpha=300),
        lambda: flambeau.ones(2, dtype=flambeau.uint8).masked_fill(flambeau.tensor(True), 300),
        lambda: flambeau.ones(2, dtype=flambeau.uint8).index_fill(0, flambeau.tensor([0]), 300),
        lambda: flambeau.ones(2, dtype=flambeau.uint8).scatter(0, flambeau.tensor([0]), 300),
    ],
)
def test_numbers_that_do_not_fit(call):
    with pytest.raises(RuntimeError, match="without overflow"):
        call()


def test_numpy_arrays_and_scalars():
    x = flambeau.tensor([1, 2])
    assert (x == np.array([1, 5])).tolist() == (np.array([1, 5]) == x).tolist() == [True, False]
    assert (x != np.array([1, 5])).tolist() == [False, True]
    for data, dtype in (
        ([np.float64(1e300), np.float32(2)], flambeau.float64),
        ([np.float64(1.5)], flambeau.float64),
        ([np.float32(1), 2], flambeau.float32),
        ([np.int32(2), np.float32(1)], flambeau.float32),
        ([[np.float16(1)]], flambeau.float16),
        ([np.int8(1), True], flambeau.int8),
        ([1, 2.5], flambeau.float32),
    ):
        assert flambeau.tensor(data).dtype is dtype
    y = flambeau.ones(2, requires_grad=True)
    for share in (np.asarray, memoryview):
        with pytest.raises(RuntimeError, match="requires grad"):
            share(y * y)


def test_lists_of_sequences_index_as_tuples():
    a = flambeau.arange(12).view(3, 4)
    assert a[[[0, 1], [1, 2]]].tolist() == [1, 6] and a[[0, 1]].shape == (2, 4)
    assert a[[np.array([0, 1]), 1]].tolist() == [1, 5]


def test_halves_compare_with_numbers_as_they_hold_them():
    for dtype in (flambeau.float16, flambeau.bfloat16):
        assert (flambeau.tensor([0.1], dtype=dtype) == 0.1).all()
        assert not (flambeau.tensor([0.1], dtype=dtype) > 0.1).any()


def test_in_place_from_an_overlapping_view():
    b = flambeau.arange(9.0).view(3, 3)
    with pytest.raises(RuntimeError, match="single memory location"):
        b.add_(b.t())
    assert b.add_(b)[2, 2] == 16


def test_extremes():
    x = flambeau.ones(2, 2)
    assert (flambeau.triu(x, 2**63 - 1) == 0).all() and (flambeau.tril(x, 2**63 - 1) == 1).all()
    assert (flambeau.triu(x, -(2**63)) == 1).all() and (flambeau.tril(x, -(2**63)) == 0).all()
    with pytest.raises(RuntimeError, match="too large"):
        flambeau.bincount(flambeau.tensor([2**63 - 1]))
    with pytest.raises(RuntimeError, match="output_size"):
        flambeau.ones(2).repeat_interleave(flambeau.tensor([1, 2]), output_size=7)
    for bad in (math.nan, math.inf):
        with pytest.raises(flambeau.linalg.LinAlgError):
            flambeau.linalg.cholesky(flambeau.full((2, 2), bad))
    assert (1 << flambeau.tensor([3])).item() == 8 and (8 >> flambeau.tensor([1])).item() == 4
    assert (flambeau.tensor([1j, 1 + 1j]) ** 2).tolist() == [-1, 2j]


def test_hooks_keep_the_kind_of_a_gradient():
    x = flambeau.ones(2, requires_grad=True)
    for hook in (lambda g: g.double(), lambda g: g[:1]):
        for t in (x, x * 2):
            handle = t.register_hook(hook)
            with pytest.raises(RuntimeError, match="hook '<lambda>' has changed"):
                t.sum().backward()
            handle.remove()


# ---- dtypes of out= ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda x, out: flambeau.sort(x, out=(x.clone(), out)),
        lambda x, out: flambeau.topk(x, 2, out=(x.clone(), out)),
        lambda x, out: flambeau.max(x, 0, out=(x.sum(), out)),
        lambda x, out: flambeau.min(x, 0, out=(x.sum(), out)),
        lambda x, out: flambeau.kthvalue(x, 1, out=(x.sum(), out)),
        lambda x, out: flambeau.median(x, 0, out=(x.sum(), out)),
        lambda x, out: flambeau.mode(x, 0, out=(x.sum(), out)),
        lambda x, out: flambeau.cummax(x, 0, out=(x.clone(), out)),
        lambda x, out: flambeau.argmax(x, out=out),
        lambda x, out: flambeau.argsort(x, stable=True, out=out),
        lambda x, out: flambeau.nonzero(x, out=out),
        lambda x, out: flambeau.searchsorted(x, x, out=out),
        lambda x, out: flambeau.bucketize(x, x, out=out),
        lambda x, out: flambeau.multinomial(x, 2, out=out),
    ],
)
def test_indices_are_int64(call):
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype"):
        call(flambeau.tensor([1.0, 2.0, 3.0]), flambeau.empty(0, dtype=flambeau.int32))


@pytest.mark.parametrize(
    "call",
    [
        lambda m, out: flambeau.mm(m, m, out=out),
        lambda m, out: flambeau.gather(m, 0, flambeau.tensor([[0]]), out=out),
        lambda m, out: flambeau.index_select(m, 0, flambeau.tensor([0]), out=out),
        lambda m, out: flambeau.amax(m, 0, out=out),
        lambda m, out: flambeau.softmax(m, 0, out=out),
        lambda m, out: flambeau.linalg.inv(m, out=out),
        lambda m, out: flambeau.tril(m, out=out),
        lambda m, out: flambeau.where(m > 0, m, m, out=out),
    ],
)
def test_out_of_a_wider_dtype(call):
    m = flambeau.eye(2)
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype"):
        call(m, flambeau.empty(0, dtype=flambeau.float64))
    assert flambeau.equal(call(m, flambeau.empty(0)), call(m, None))


def test_out_that_is_cast_to():
    m, wide = flambeau.eye(2), flambeau.empty(0, dtype=flambeau.float64)
    assert flambeau.sum(m, 0, out=wide).tolist() == [1.0, 1.0]
    assert flambeau.cat([m, m], out=flambeau.empty(0, dtype=flambeau.float64)).shape == (4, 2)
    truth = flambeau.empty((), dtype=flambeau.uint8)
    assert flambeau.any(m, out=truth).item() == 1 and truth.dtype is flambeau.uint8


# ---- truth has no differences --------------------------------------------------------------------


def test_subtraction_of_bools():
    truth, one = flambeau.tensor([True]), flambeau.tensor([1])
    for call in (
        lambda: truth - truth,
        lambda: truth - True,
        lambda: True - truth,
        lambda: truth.clone().sub_(True),
        lambda: flambeau._foreach_sub([truth], [truth]),
    ):
        with pytest.raises(RuntimeError, match="with two bool tensors is not supported"):
            call()
    for call in (
        lambda: truth - 1,
        lambda: 1.5 - truth,
        lambda: truth - one,
        lambda: one - truth,
        lambda: one - True,
        lambda: flambeau.rsub(truth, 1),
    ):
        with pytest.raises(RuntimeError, match="with a bool tensor is not supported"):
            call()
    with pytest.raises(RuntimeError, match="Negation, the `-` operator, on a bool tensor"):
        -truth
