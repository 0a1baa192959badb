"""Reductions and scans against NumPy, their derivatives by finite differences, and determinism."""

import math

import numpy as np
import pytest

import flambeau
from flambeau.autograd import gradcheck, gradgradcheck

RNG = np.random.default_rng(0)


def tensor(array, grad=False):
    t = flambeau.from_numpy(np.ascontiguousarray(array))
    return t.requires_grad_() if grad else t


def close(actual, expected, **tolerance):
    np.testing.assert_allclose(actual.numpy(), expected, **tolerance)


@pytest.mark.parametrize("shape", [(3, 4, 5), (70, 33), (2, 300, 40), (5000,), (1, 7, 1)])
@pytest.mark.parametrize("name", ["sum", "mean", "amax", "amin", "var", "std"])
def test_every_choice_of_dimensions(name, shape):
    a = RNG.standard_normal(shape)
    dims = range(len(shape))
    for chosen in [(d,) for d in dims] + [tuple(dims)] + ([(0, -1)] if len(shape) > 2 else []):
        for layout in (a, np.asfortranarray(a)):
            keywords = {"ddof": 1} if name in ("var", "std") else {}
            with np.errstate(all="ignore"):
                expected = getattr(np, name)(layout, axis=chosen, keepdims=True, **keywords)
            t = tensor(layout.T).permute(*reversed(dims))
            close(getattr(t, name)(chosen, keepdim=True), expected, rtol=1e-10, atol=1e-12)


def test_sum_of_many_floats_is_accurate():
    a = RNG.random(10_000_000, dtype=np.float32)
    exact = float(a.sum(dtype=np.float64))
    assert abs(float(tensor(a).sum()) - exact) <= exact * 1e-7


@pytest.mark.parametrize(
    "shape,dims",
    [((1_000_003,), None), ((3000, 700), 0), ((3000, 700), 1), ((50, 64, 300), (0, 2))],
)
def test_result_does_not_depend_on_threads(shape, dims):
    t = tensor(RNG.standard_normal(shape).astype(np.float32))
    before, results = flambeau.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            flambeau.set_num_threads(threads)
            results.append([f(dims).numpy() for f in (t.sum, t.var)])
    finally:
        flambeau.set_num_threads(before)
    for other in results[1:]:
        for a, b in zip(results[0], other):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64"])
def test_integers_add_up_in_int64(dtype):
    a = RNG.integers(0, 2 if dtype == "bool" else 100, (40, 50)).astype(dtype)
    for dim in (0, 1):
        result = tensor(a).sum(dim)
        assert result.dtype == flambeau.int64
        close(result, a.sum(dim, dtype=np.int64))
    assert int(tensor(a).prod()) == int(np.prod(a, dtype=np.int64))


@pytest.mark.parametrize("dtype", [flambeau.float16, flambeau.bfloat16])
def test_halves_accumulate_wide(dtype):
    t = flambeau.full((4096,), 0.25).to(dtype)
    assert float(t.sum()) == 1024 and t.sum().dtype == dtype
    assert float(t.mean()) == 0.25


def test_nan_wins_and_positions_are_the_first():
    a = RNG.integers(0, 3, (50, 60)).astype(np.float32)
    close(tensor(a).argmax(1), a.argmax(1))
    close(tensor(a).argmin(0), a.argmin(0))
    a[3, 7] = a[3, 9] = math.nan
    assert math.isnan(float(tensor(a).max()))
    close(tensor(a).argmax(1), a.argmax(1))
    close(tensor(a).max(0).indices, a.argmax(0))


def test_empty_inputs():
    assert float(flambeau.zeros(0).sum()) == 0 and float(flambeau.zeros(0).prod()) == 1
    assert flambeau.zeros(0, 3).sum(0).tolist() == [0, 0, 0]
    assert math.isnan(float(flambeau.zeros(0).mean()))
    assert flambeau.zeros(2, 0).all(1).tolist() == [True, True]
    for f in (flambeau.max, flambeau.amax, flambeau.amin):
        with pytest.raises(RuntimeError, match="Expected reduction dim to be specified"):
            f(flambeau.zeros(0))
    with pytest.raises(IndexError, match="non-zero size"):
        flambeau.zeros(2, 0).max(1)


def test_errors():
    t = flambeau.ones(2, 3)
    with pytest.raises(IndexError, match="Dimension out of range"):
        t.sum(2)
    with pytest.raises(RuntimeError, match="appears multiple times"):
        t.sum((0, 0))
    with pytest.raises(RuntimeError, match="could not infer output dtype"):
        flambeau.ones(2, dtype=flambeau.int64).mean()
    with pytest.raises(NotImplementedError):
        flambeau.ones(2, dtype=flambeau.complex64).max()


def test_norms():
    a = RNG.standard_normal((4, 5))
    for p in (0, 1, 2, 3, 0.5, math.inf, -math.inf):
        expected = np.linalg.norm(a, ord=p, axis=1) if p != 0 else (a != 0).sum(1)
        close(flambeau.linalg.vector_norm(tensor(a), p, 1), expected)
    close(flambeau.norm(tensor(a)), np.linalg.norm(a))
    close(flambeau.linalg.norm(tensor(a), math.inf), np.linalg.norm(a, np.inf))
    assert float(flambeau.full((10,), 1e30).norm()) == pytest.approx(math.sqrt(10) * 1e30)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_scans(name, dim):
    a = RNG.standard_normal((6, 7, 300))
    close(
        getattr(flambeau, name)(tensor(a), dim), getattr(np, name)(a, dim), rtol=1e-9, atol=1e-300
    )


def test_running_extremes():
    a = RNG.integers(0, 9, (5, 40)).astype(float)
    values, indices = flambeau.cummax(tensor(a), 1)
    close(values, np.maximum.accumulate(a, 1))
    close(values, np.take_along_axis(a, indices.numpy(), 1))


DERIVATIVES = {
    "sum": lambda t: t.sum((0, 2)),
    "mean": lambda t: t.mean(1, keepdim=True),
    "prod": lambda t: t.prod(1),
    "var": lambda t: t.var((0, 1)),
    "std": lambda t: t.std(-1),
    "amax": lambda t: t.amax(1),
    "max": lambda t: t.max(0).values,
    "norm2": lambda t: flambeau.linalg.vector_norm(t, 2, 1),
    "norm3": lambda t: flambeau.linalg.vector_norm(t, 3),
    "logsumexp": lambda t: t.logsumexp((0, 1)),
    "cumsum": lambda t: t.cumsum(1),
    "cumprod": lambda t: t.cumprod(1),
    "logcumsumexp": lambda t: t.logcumsumexp(1),
    "cummax": lambda t: t.cummax(1).values,
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives(name):
    t = tensor(RNG.standard_normal((2, 3, 2)), grad=True)
    assert gradcheck(DERIVATIVES[name], (t,))
    assert gradgradcheck(DERIVATIVES[name], (t,))


@pytest.mark.parametrize("zeros", [1, 2])
@pytest.mark.parametrize("name", ["prod", "cumprod"])
def test_products_with_zeros(name, zeros):
    a = RNG.standard_normal((2, 4))
    a[0, 1 : 1 + zeros] = 0
    assert gradcheck(lambda t: getattr(t, name)(1), (tensor(a, grad=True),))
    assert gradgradcheck(lambda t: getattr(t, name)(1), (tensor(a, grad=True),))


def test_ties_share_the_gradient_of_amax_but_not_of_max():
    t = tensor(np.array([1.0, 2.0, 2.0]), grad=True)
    t.amax(0).backward()
    assert t.grad.tolist() == [0, 0.5, 0.5]
    t.grad = None
    t.max(0).values.backward()
    assert t.grad.tolist() == [0, 1, 0]
