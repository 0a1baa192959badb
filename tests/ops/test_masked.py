"""flambeau.masked: beside the same function of the elements that count."""

from __future__ import annotations

import numpy
import pytest

import flambeau
from flambeau import masked
from flambeau.autograd import gradcheck

X = [[1.0, -2.0, 3.0, 0.5], [4.0, 5.0, -6.0, 2.0], [0.1, 0.2, 0.3, 0.4]]
MASK = [[True, False, True, True], [False, True, True, False], [False, False, False, False]]


def rows(dtype=flambeau.float64):
    """The input, the mask, and the elements of each row that count."""
    values, there = numpy.array(X), numpy.array(MASK)
    kept = [row[m] for row, m in zip(values, there)]
    return flambeau.tensor(X, dtype=dtype), flambeau.tensor(MASK), kept


REDUCTIONS = {
    "sum": (numpy.sum, 0.0),
    "prod": (numpy.prod, 1.0),
    "amax": (numpy.max, -numpy.inf),
    "amin": (numpy.min, numpy.inf),
    "mean": (numpy.mean, numpy.nan),
    "logsumexp": (lambda v: numpy.log(numpy.exp(v).sum()), -numpy.inf),
    "norm": (lambda v: numpy.sqrt((v * v).sum()), 0.0),
    "var": (lambda v: v.var(ddof=1), numpy.nan),
    "std": (lambda v: v.std(ddof=1), numpy.nan),
    "median": (lambda v: numpy.sort(v)[(len(v) - 1) // 2], numpy.nan),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction(name):
    x, mask, kept = rows()
    function, empty = REDUCTIONS[name]
    want = [function(row) if len(row) else empty for row in kept]
    args = (2.0, 1) if name == "norm" else (1,)
    got = getattr(masked, name)(x, *args, mask=mask)
    numpy.testing.assert_allclose(got.numpy(), want, rtol=1e-12)
    kept_dim = getattr(masked, name)(x, *args, mask=mask, keepdim=True)
    assert kept_dim.shape == (3, 1)
    lower = getattr(masked, name)(x, *args, mask=mask, dtype=flambeau.float32)
    assert lower.dtype == flambeau.float32


@pytest.mark.parametrize("name", ["sum", "prod", "amax", "amin", "mean", "logsumexp", "var"])
def test_all_dimensions(name):
    x, mask, kept = rows()
    want = REDUCTIONS[name][0](numpy.concatenate(kept))
    for dims in ((), ((0, 1),), (None,)):
        got = getattr(masked, name)(x, *dims, mask=mask)
        numpy.testing.assert_allclose(got.numpy(), want, rtol=1e-12)


def test_without_mask_all_elements_count():
    x, _, _ = rows()
    assert flambeau.equal(masked.sum(x, 1), x.sum(1))
    assert flambeau.equal(masked.softmax(x, 1), x.softmax(1))
    assert flambeau.equal(masked.argmax(x, 1), x.argmax(1).double())


def test_positions():
    x, mask, _ = rows()
    assert masked.argmax(x, 1, mask=mask).tolist() == [2, 1, 0]
    assert masked.argmin(x, 1, mask=mask).tolist() == [3, 2, 0]
    assert masked.argmax(x, mask=mask).item() == 5


def test_normalizations():
    x, mask, kept = rows()
    soft = masked.softmax(x, 1, mask=mask)[:2]
    for got, m, row in zip(soft.numpy(), numpy.array(MASK), kept):
        numpy.testing.assert_allclose(got[m], numpy.exp(row) / numpy.exp(row).sum(), rtol=1e-12)
        assert not got[~m].any()
    logs = masked.log_softmax(x, 1, mask=mask)[:2]
    numpy.testing.assert_allclose(logs.exp().numpy(), soft.numpy(), rtol=1e-12)
    flipped = masked.softmin(-x, 1, mask=mask)[:2]
    numpy.testing.assert_allclose(flipped.numpy(), soft.numpy(), rtol=1e-12)
    unit = masked.normalize(x, 2.0, 1, mask=mask)
    numpy.testing.assert_allclose(masked.norm(unit, 2.0, 1).numpy(), [1, 1, 0], rtol=1e-12)
    assert masked.cumsum(x, 1, mask=mask)[0].tolist() == [1, 1, 4, 4.5]
    assert masked.cumprod(x, 1, mask=mask)[0].tolist() == [1, 1, 3, 1.5]


def test_logaddexp():
    a, b = flambeau.tensor([0.0, 1.0]), flambeau.tensor([2.0, 3.0])
    got = masked.logaddexp(a, b, input_mask=flambeau.tensor([False, True]))
    assert flambeau.allclose(got, flambeau.tensor([2.0, flambeau.logaddexp(a, b)[1].item()]))


def test_integers():
    x = flambeau.tensor([[1, 2, 3], [4, 5, 6]], dtype=flambeau.int32)
    mask = flambeau.tensor([True, False, True])
    assert masked.sum(x, 1, mask=mask).dtype == flambeau.int64
    assert masked.amax(x, 1, mask=mask & False).tolist() == [-(2**31)] * 2
    assert masked.median(x, 1, mask=mask).tolist() == [1, 4]
    assert masked.cumsum(x, 1, mask=mask).dtype == flambeau.int32


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "amax", "logsumexp", "cumprod"])
def test_gradients_pass_by_what_is_masked_out(name):
    x, mask, _ = rows()
    x, mask = x[:2].requires_grad_(), mask[:2]
    assert gradcheck(lambda t: getattr(masked, name)(t, 1, mask=mask), (x,))
    getattr(masked, name)(x, 1, mask=mask).sum().backward()
    assert not x.grad[~mask].any()


def test_errors():
    x, mask, _ = rows()
    with pytest.raises(IndexError, match="broadcastable mask"):
        masked.sum(x, 1, mask=mask.unsqueeze(0))
    with pytest.raises(IndexError, match="out of range"):
        masked.sum(x, 5, mask=mask)
    with pytest.raises(RuntimeError, match="multiple times"):
        masked.sum(x, (0, 0), mask=mask)
    with pytest.raises(ValueError, match="Could not infer output dtype"):
        masked.mean(x.int(), 1, mask=mask)
    with pytest.raises(ValueError, match="no fully masked out rows"):
        masked.median(x.int(), 1, mask=mask)
    with pytest.raises(NotImplementedError, match="identity of amin"):
        masked.amin(x > 0, 1, mask=mask)
    with pytest.raises(RuntimeError, match="Only one of"):
        masked.var(x, 1, True, correction=1, mask=mask)
