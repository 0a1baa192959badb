"""Sorting, selection and search against NumPy."""

import math

import numpy as np
import pytest

import flambeau
from flambeau.autograd import gradcheck

RNG = np.random.default_rng(1)


def tensor(array):
    return flambeau.from_numpy(np.ascontiguousarray(array))


def arrays(n):
    yield RNG.standard_normal(n).astype(np.float32)
    yield RNG.integers(-5, 5, n)
    yield RNG.integers(-(2**62), 2**62, n)
    yield RNG.integers(0, 2, n).astype(bool)
    yield RNG.standard_normal(n)
    yield RNG.integers(-100, 100, n).astype(np.int8)
    yield RNG.standard_normal(n).astype(np.float16)


@pytest.mark.parametrize("n", [1, 7, 1000, 5000, 200_000])
def test_sort_is_stable_in_both_directions(n):
    for a in arrays(n):
        values, indices = flambeau.sort(tensor(a), stable=True)
        order = np.argsort(a, kind="stable")
        np.testing.assert_array_equal(indices.numpy(), order)
        np.testing.assert_array_equal(values.numpy(), a[order])
        descending = flambeau.argsort(tensor(a), descending=True, stable=True).numpy()
        order = n - 1 - np.argsort(a[::-1], kind="stable")[::-1]
        np.testing.assert_array_equal(descending, order)


def test_nan_is_the_largest():
    a = np.array([math.nan, 1.0, -0.0, math.inf, 0.0, math.nan, -math.inf])
    assert flambeau.argsort(tensor(a), stable=True).tolist() == [6, 2, 4, 1, 3, 0, 5]
    assert flambeau.argsort(tensor(a), descending=True, stable=True).tolist() == [
        0,
        5,
        3,
        1,
        2,
        4,
        6,
    ]
    assert flambeau.topk(tensor(a), 3).indices.tolist() == [0, 5, 3]


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_any_dimension(dim):
    a = RNG.standard_normal((4, 5, 6))
    values, indices = flambeau.sort(tensor(a), dim)
    np.testing.assert_array_equal(values.numpy(), np.sort(a, dim))
    np.testing.assert_array_equal(np.take_along_axis(a, indices.numpy(), dim), np.sort(a, dim))


@pytest.mark.parametrize("k", [1, 5, 100, 1999])
@pytest.mark.parametrize("largest", [True, False])
def test_topk(k, largest):
    a = RNG.integers(0, 300, (3, 2000)).astype(np.float32)
    values, indices = flambeau.topk(tensor(a), k, largest=largest)
    expected = np.sort(a, 1)[:, ::-1][:, :k] if largest else np.sort(a, 1)[:, :k]
    np.testing.assert_array_equal(values.numpy(), expected)
    np.testing.assert_array_equal(np.take_along_axis(a, indices.numpy(), 1), expected)
    assert all(len(set(row)) == k for row in indices.tolist())


def test_ranks():
    a = RNG.standard_normal((5, 9))
    np.testing.assert_array_equal(
        flambeau.kthvalue(tensor(a), 3, 1).values.numpy(), np.sort(a, 1)[:, 2]
    )
    np.testing.assert_array_equal(flambeau.median(tensor(a), 1).values.numpy(), np.median(a, 1))
    a[0, 0] = math.nan
    assert math.isnan(float(flambeau.median(tensor(a))))
    assert float(flambeau.nanmedian(tensor(a))) == np.sort(a.ravel())[21]
    assert flambeau.mode(flambeau.tensor([5, 5, 1, 1, 2])).values.item() == 1
    with pytest.raises(RuntimeError, match="out of range"):
        flambeau.kthvalue(tensor(a), 10, 1)
    with pytest.raises(RuntimeError, match="selected index k out of range"):
        flambeau.topk(tensor(a), 10, 1)


def test_search():
    edges, values = np.sort(RNG.standard_normal(50)), RNG.standard_normal((4, 5))
    for side in ("left", "right"):
        found = flambeau.searchsorted(tensor(edges), tensor(values), side=side)
        np.testing.assert_array_equal(found.numpy(), np.searchsorted(edges, values, side))
    assert flambeau.bucketize(2, flambeau.tensor([1, 2, 3]), right=True).item() == 2
    with pytest.raises(RuntimeError, match="opposites"):
        flambeau.searchsorted(tensor(edges), tensor(values), side="left", right=True)


@pytest.mark.parametrize("dim", [None, 0, 1])
def test_unique(dim):
    a = RNG.integers(0, 2, (6, 3))
    values, inverse, counts = flambeau.unique(
        tensor(a), return_inverse=True, return_counts=True, dim=dim
    )
    expected = np.unique(a, return_inverse=True, return_counts=True, axis=dim)
    np.testing.assert_array_equal(values.numpy(), expected[0])
    np.testing.assert_array_equal(inverse.numpy().ravel(), expected[1].ravel())
    np.testing.assert_array_equal(counts.numpy(), expected[2])
    assert flambeau.unique_consecutive(flambeau.tensor([1, 1, 2, 1])).tolist() == [1, 2, 1]


def test_gradient_goes_to_the_chosen():
    t = tensor(RNG.standard_normal((3, 5))).requires_grad_()
    for f in (
        lambda x: x.sort(1).values,
        lambda x: x.topk(2, 0).values,
        lambda x: x.median(1).values,
    ):
        assert gradcheck(f, (t,))
