"""Quantiles, histograms, membership, combinations, numerical gradients, renormalisation."""

import itertools

import numpy as np
import pytest

import flambeau
from flambeau.autograd import gradcheck

RNG = np.random.default_rng(0)


def tensor(array):
    return flambeau.from_numpy(np.ascontiguousarray(array))


@pytest.mark.parametrize("how", ["linear", "lower", "higher", "midpoint", "nearest"])
@pytest.mark.parametrize("dim", [None, 0, 1, -1])
def test_quantile(dim, how):
    a = RNG.standard_normal((6, 7, 5))
    for q in (0.0, 0.37, 1.0, [0.1, 0.5, 0.93]):
        for keepdim in (False, True):
            want = np.quantile(a, q, axis=dim, method=how, keepdims=keepdim)
            given = tensor(np.array(q)) if isinstance(q, list) else q
            got = flambeau.quantile(tensor(a), given, dim, keepdim, interpolation=how)
            assert got.shape == want.shape
            np.testing.assert_allclose(got.numpy(), want, rtol=1e-12)


def test_quantile_and_nan():
    a = RNG.standard_normal((4, 9))
    a[1, 3] = a[2] = np.nan
    got = flambeau.quantile(tensor(a), 0.3, 1).numpy()
    assert np.isnan(got).tolist() == [False, True, True, False]
    got = flambeau.nanquantile(tensor(a), 0.3, 1).numpy()
    np.testing.assert_allclose(got[[0, 1, 3]], np.nanquantile(a[[0, 1, 3]], 0.3, axis=1))
    assert np.isnan(got[2])


def test_quantile_errors():
    x = flambeau.zeros(3)
    for call, text in [
        (lambda: flambeau.quantile(x.half(), 0.5), "must be either float or double"),
        (lambda: flambeau.quantile(x, 1.5), r"must be in the range \[0, 1\] but got 1.5"),
        (lambda: flambeau.quantile(x, flambeau.tensor([2.0])), r"q values must be in the range"),
        (lambda: flambeau.quantile(x, flambeau.tensor([0.5]).double()), "must be same dtype"),
        (lambda: flambeau.quantile(x, flambeau.ones(1, 1)), "q must be a scalar or 1D tensor"),
        (lambda: flambeau.quantile(flambeau.zeros(0), 0.5), "must be non-empty"),
        (lambda: flambeau.quantile(x, 0.5, interpolation="bad"), "interpolation must be one of"),
    ]:
        with pytest.raises(RuntimeError, match=text):
            call()


def test_histogram():
    a, w = RNG.standard_normal(200), RNG.random(200)
    for density in (False, True):
        for weight in (None, w):
            given = None if weight is None else tensor(weight)
            for bins in (7, np.array([-2.0, -0.5, 0.1, 3.0])):
                want = np.histogram(a, bins, weights=weight, density=density)
                edges = bins if isinstance(bins, int) else tensor(bins)
                got = tensor(a).histogram(edges, weight=given, density=density)
                np.testing.assert_allclose(got.hist.numpy(), want[0], rtol=1e-12)
                np.testing.assert_allclose(got.bin_edges.numpy(), want[1], rtol=1e-12)
    got = flambeau.histogram(tensor(a), 5, range=(-1.0, 1.0)).hist
    np.testing.assert_array_equal(got.numpy(), np.histogram(a, 5, (-1, 1))[0])
    assert flambeau.histogram(flambeau.zeros(0), 3).bin_edges.tolist()[-1] == 1
    assert flambeau.histogram(flambeau.ones(3), 2).bin_edges.tolist() == [0.5, 1.0, 1.5]
    out = flambeau.empty(0), flambeau.empty(0)
    flambeau.histogram(flambeau.ones(3), 2, out=out)
    assert out[0].tolist() == [0, 3]


def test_histogramdd():
    a, w = RNG.standard_normal((100, 3)), RNG.random(100)
    want, edges = np.histogramdd(a, (2, 3, 4), weights=w, density=True)
    got = flambeau.histogramdd(tensor(a), (2, 3, 4), weight=tensor(w), density=True)
    np.testing.assert_allclose(got.hist.numpy(), want, rtol=1e-12)
    for g, e in zip(got.bin_edges, edges):
        np.testing.assert_allclose(g.numpy(), e, rtol=1e-12)
    got = flambeau.histogramdd(tensor(a), [tensor(e) for e in edges]).hist
    np.testing.assert_array_equal(got.numpy(), np.histogramdd(a, edges)[0])


def test_histogram_errors():
    x = flambeau.zeros(4)
    for call, kind, text in [
        (lambda: flambeau.histogram(x.long(), 3), NotImplementedError, "not implemented for"),
        (lambda: flambeau.histogram(x, 0), RuntimeError, "bins must be > 0, but got 0"),
        (lambda: flambeau.histogram(x, 3, range=(1.0, 0.0)), RuntimeError, "min should not exceed"),
        (lambda: flambeau.histogram(x, 3, range=(1.0,)), RuntimeError, "should have 2 elements"),
        (lambda: flambeau.histogram(x, 3, weight=x[:2]), RuntimeError, "weight tensor is provided"),
        (lambda: flambeau.histogram(x / 0, 3), RuntimeError, "is not finite"),
        (lambda: flambeau.histogram(x, x.double()), RuntimeError, "should have the same dtype"),
        (lambda: flambeau.histogramdd(x, 3), RuntimeError, "at least 2 dimensions"),
        (lambda: flambeau.histogramdd(x[None], (3,)), RuntimeError, "The size of bins must be"),
    ]:
        with pytest.raises(kind, match=text):
            call()


def test_isin():
    a, b = RNG.integers(0, 9, (4, 5)), RNG.integers(0, 9, 4)
    for invert in (False, True):
        got = flambeau.isin(tensor(a), tensor(b), invert=invert)
        np.testing.assert_array_equal(got.numpy(), np.isin(a, b, invert=invert))
    assert flambeau.isin(flambeau.arange(4), 2).tolist() == [False, False, True, False]
    assert flambeau.isin(2, flambeau.arange(4)).item()
    assert flambeau.isin(flambeau.arange(3), flambeau.zeros(0)).tolist() == [False] * 3
    nan = flambeau.tensor([float("nan"), 1.0])
    assert flambeau.isin(nan, nan).tolist() == [False, True]
    with pytest.raises(RuntimeError, match="Unsupported input type"):
        flambeau.isin(nan > 0, nan > 0)


@pytest.mark.parametrize("r", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("replace", [False, True])
def test_combinations(r, replace):
    function = itertools.combinations_with_replacement if replace else itertools.combinations
    want = list(function(range(4), r)) if r else []
    got = flambeau.combinations(flambeau.arange(4), r, replace)
    assert [tuple(row) for row in got.tolist()] == want
    with pytest.raises(RuntimeError, match="Expect a 1D vector"):
        flambeau.combinations(flambeau.ones(2, 2))


@pytest.mark.parametrize("edge_order", [1, 2])
def test_gradient(edge_order):
    a = RNG.standard_normal((5, 6))
    x, y = np.cumsum(RNG.random(5) + 0.1), np.cumsum(RNG.random(6) + 0.1)
    for spacing, given in [((), None), ((0.5,), 0.5), ((2.0, 3.0), [2.0, 3.0]), ((x, y), [x, y])]:
        want = np.gradient(a, *spacing, edge_order=edge_order)
        if isinstance(given, list) and given and not isinstance(given[0], float):
            given = [tensor(v) for v in given]
        got = flambeau.gradient(tensor(a), spacing=given, edge_order=edge_order)
        for g, w in zip(got, want):
            np.testing.assert_allclose(g.numpy(), w, rtol=1e-10, atol=1e-12)
    t = tensor(a).requires_grad_()
    assert gradcheck(lambda t: flambeau.gradient(t, dim=1, edge_order=edge_order)[0], (t,))


def test_gradient_errors():
    x = flambeau.zeros(4, 6)
    for call, kind, text in [
        (lambda: flambeau.gradient(x, dim=5), IndexError, "Dimension out of range"),
        (lambda: flambeau.gradient(x, edge_order=3), RuntimeError, "only supports edge_order"),
        (lambda: flambeau.gradient(flambeau.ones(1)), RuntimeError, "at least edge_order"),
        (lambda: flambeau.gradient(x, spacing=[1.0]), RuntimeError, "expected spacing to be"),
        (lambda: flambeau.gradient(x, dim=(0, 0)), RuntimeError, "appears multiple times"),
    ]:
        with pytest.raises(kind, match=text):
            call()


def test_unravel_index():
    got = flambeau.unravel_index(flambeau.tensor([[1, 22], [7, 11]]), (2, 3, 4))
    want = np.unravel_index(np.array([[1, 22], [7, 11]]), (2, 3, 4))
    for g, w in zip(got, want):
        np.testing.assert_array_equal(g.numpy(), w)
    with pytest.raises(TypeError, match="expected 'indices' to be integer dtype"):
        flambeau.unravel_index(flambeau.ones(1), (2, 3))
    with pytest.raises(ValueError, match="cannot have negative values"):
        flambeau.unravel_index(flambeau.tensor([1]), (2, -3))


def test_renorm():
    a = RNG.standard_normal((4, 5))
    got = flambeau.renorm(tensor(a), 2, 0, 1.0).numpy()
    norms = np.linalg.norm(a, axis=1)
    np.testing.assert_allclose(np.linalg.norm(got, axis=1), np.minimum(norms, 1), rtol=1e-6)
    t = tensor(a)
    assert t.renorm_(2, 0, 1.0) is t
    np.testing.assert_array_equal(t.numpy(), got)
    for call, text in [
        (lambda: flambeau.renorm(t, 0, 0, 1), "non-positive-norm"),
        (lambda: flambeau.renorm(t, 2, 0, -1), "expected maxnorm to be >= 0"),
        (lambda: flambeau.renorm(t[0], 2, 0, 1), "at least 2 dimensions"),
    ]:
        with pytest.raises(RuntimeError, match=text):
            call()
