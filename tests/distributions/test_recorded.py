"""Distributions against recorded numbers: moments, densities, samples of a seed, divergences."""

from __future__ import annotations

import copy
import json
import math
import pickle
from pathlib import Path

import pytest

import flambeau
from flambeau import distributions

DATA = json.loads((Path(__file__).parent / "data" / "recorded.json").read_text())
SCOPE = {"t": flambeau, "d": distributions}
DISTRIBUTIONS = DATA["distributions"]


@pytest.fixture(autouse=True)
def _float64(_fresh_state):
    flambeau.set_default_dtype(flambeau.float64)


def build(expression):
    return eval(expression, SCOPE)


def numbers(value):
    """Nested lists with "nan", "inf", "-inf" as floats."""
    if isinstance(value, list):
        return [numbers(v) for v in value]
    return float(value) if isinstance(value, str) else value


def check(got, want, rel=1e-9):
    want = flambeau.tensor(numbers(want), dtype=got.dtype)
    assert got.shape == want.shape
    flambeau.testing.assert_close(got, want, rtol=rel, atol=1e-10, equal_nan=True)


def levels(d):
    u = flambeau.tensor([0.1, 0.5, 0.93])
    return u.reshape((3,) + (1,) * len(d.batch_shape)).expand((3, *d.batch_shape))


def results(d):
    """What is recorded, by name: functions that compute it."""
    value = None

    def sample():
        nonlocal value
        flambeau.manual_seed(11)
        value = d.sample((2,))
        return value

    def rsample():
        flambeau.manual_seed(12)
        return d.rsample()

    def expanded():
        flambeau.manual_seed(5)
        return d.expand((2, *d.batch_shape)).sample()

    return {
        "mean": lambda: d.mean,
        "mode": lambda: d.mode,
        "variance": lambda: d.variance,
        "entropy": d.entropy,
        "support": d.enumerate_support,
        "sample": sample,
        "rsample": rsample,
        "log_prob": lambda: d.log_prob(value),
        "cdf": lambda: d.cdf(value),
        "icdf": lambda: d.icdf(levels(d)),
        "expanded": expanded,
    }


@pytest.mark.parametrize("row", DISTRIBUTIONS, ids=lambda row: row["is"][2:60])
def test_distribution(row):
    d = build(row["is"])
    assert d.batch_shape == tuple(row["batch_shape"])
    assert d.event_shape == tuple(row["event_shape"])
    assert repr(d) == row["repr"]
    for name, compute in results(d).items():
        if name not in row and name != "sample":
            continue
        if row[name] is None:
            with pytest.raises(NotImplementedError):
                compute()
            continue
        check(compute(), row[name])
        if name == "sample":  # as many numbers are used up
            assert flambeau.rand(1).item() == pytest.approx(row["next"], rel=1e-11)


@pytest.mark.parametrize("row", DISTRIBUTIONS, ids=lambda row: row["is"][2:60])
def test_copies(row):
    d = build(row["is"])
    value = d.sample()
    if not isinstance(d, distributions.VonMises):
        assert d.support.check(value).all()
    others = [copy.deepcopy(d), pickle.loads(pickle.dumps(d)), copy.copy(d)]
    assert all(type(other) is type(d) and repr(other) == repr(d) for other in others)
    for other in others:
        flambeau.testing.assert_close(other.log_prob(value), d.log_prob(value))


@pytest.mark.parametrize("row", DISTRIBUTIONS, ids=lambda row: row["is"][2:60])
def test_expand(row):
    d = build(row["is"])
    wide = d.expand((3, *d.batch_shape))
    assert type(wide) is type(d)
    assert wide.batch_shape == (3, *d.batch_shape) and wide.event_shape == d.event_shape
    assert wide._validate_args == d._validate_args
    value = d.sample()
    log_prob = d.log_prob(value)
    flambeau.testing.assert_close(wide.log_prob(value), log_prob.expand(wide.batch_shape))
    assert wide.sample((2,)).shape == (2, *wide.batch_shape, *wide.event_shape)
    again = wide.expand((2, *wide.batch_shape))
    assert again.batch_shape == (2, *wide.batch_shape)


@pytest.mark.parametrize("row", DISTRIBUTIONS, ids=lambda row: row["is"][2:60])
def test_float32(row):
    flambeau.set_default_dtype(flambeau.float32)
    d = build(row["is"])
    value = d.sample((2,))
    if isinstance(d, distributions.Categorical):
        assert value.dtype is flambeau.int64
    else:
        assert value.dtype is flambeau.float32
    assert d.log_prob(value).dtype is flambeau.float32


@pytest.mark.parametrize(
    "p, q, want",
    DATA["divergences"],
    ids=[f"{p[2:20]}|{q[2:20]}" for p, q, _ in DATA["divergences"]],
)
def test_divergence(p, q, want):
    p, q = build(p), build(q)
    got = distributions.kl_divergence(p, q)
    if want == "inf":
        assert got.shape == (4,) and (got == math.inf).all()
    else:
        check(got, want, rel=1e-8)


def test_each_registered_pair_is_recorded():
    pairs = {(type(build(p)), type(build(q))) for p, q, _ in DATA["divergences"]}
    registered = {
        pair
        for pair in distributions.kl._KL_REGISTRY
        if all(getattr(distributions, c.__name__, None) is c for c in pair)
    }
    left = {(p.__name__, q.__name__) for p, q in registered - pairs}
    assert left <= {
        ("ExponentialFamily", "ExponentialFamily"),  # Wishart's
        ("TransformedDistribution", "TransformedDistribution"),  # LogNormal's
        # infinite at an end of the interval in the recording
        ("Beta", "Uniform"),
        ("ContinuousBernoulli", "Uniform"),
        ("Uniform", "ContinuousBernoulli"),
    }
