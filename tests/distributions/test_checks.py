"""Messages, checks of parameters and values, constraints, representations, lazy attributes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import flambeau
from flambeau import distributions as d
from flambeau.distributions import constraints, utils

DATA = Path(__file__).parent / "data"
MESSAGES = json.loads((DATA / "messages.json").read_text())
CONSTRAINTS = json.loads((DATA / "constraints.json").read_text())
SCOPE = {"t": flambeau, "d": d, "c": constraints}


def plain(text):
    return re.sub(r"\b(torch|flambeau)\.", "", " ".join(text.split()))


@pytest.mark.parametrize("expression, kind, message", MESSAGES, ids=[m[0][:60] for m in MESSAGES])
def test_message(expression, kind, message):
    with pytest.raises(Exception) as caught:
        eval(expression, SCOPE)
    assert type(caught.value).__name__ == kind
    assert plain(message) in plain(str(caught.value))


@pytest.mark.parametrize("row", CONSTRAINTS, ids=lambda row: row["is"])
def test_constraint(row):
    constraint = eval(row["is"], SCOPE)
    assert repr(constraint) == row["repr"]
    assert constraint.is_discrete == row["is_discrete"]
    assert constraint.event_dim == row["event_dim"]
    for value, want in row["check"].items():
        got = constraint.check(eval(value, SCOPE))
        assert got.dtype is flambeau.bool and got.tolist() == want
    for registry in (d.biject_to, d.transform_to):
        name = "biject_to" if registry is d.biject_to else "transform_to"
        if row[name] is None:
            with pytest.raises(NotImplementedError, match="Cannot transform"):
                registry(constraint)
        else:
            transform = registry(constraint)
            assert repr(transform) == row[name]
            assert transform.bijective or registry is d.transform_to


def test_reached_values_satisfy_the_constraint():
    x = flambeau.randn(5, 3, 3)
    for name in ("positive", "simplex", "unit_interval", "lower_cholesky", "positive_definite"):
        constraint = getattr(constraints, name)
        assert constraint.check(d.transform_to(constraint)(x)).all(), name
    for constraint in (
        constraints.less_than(2.0),
        constraints.interval(-1.0, 3.0),
        constraints.corr_cholesky,
        constraints.independent(constraints.greater_than_eq(1.0), 1),
        constraints.stack([constraints.positive, constraints.real, constraints.less_than(0.0)], -1),
        constraints.cat([constraints.positive, constraints.less_than(0.0)], -1, [1, 2]),
    ):
        transform = d.biject_to(constraint)
        y = transform(x)
        assert constraint.check(y).all(), constraint
        flambeau.testing.assert_close(transform.inv(y), x, rtol=1e-3, atol=1e-3)


def test_every_instance_of_a_class_satisfies_its_constraints():
    normal = d.Normal(0.0, 1.0)
    assert normal.support is constraints.real and d.Normal.support is constraints.real
    assert constraints.is_dependent(d.Uniform.support) and d.Uniform.support.event_dim == 0
    assert repr(d.Uniform(0.0, 1.0).support) == "Interval(lower_bound=0.0, upper_bound=1.0)"
    assert d.Binomial.support.is_discrete and d.Categorical.support.is_discrete
    assert not constraints.is_dependent(constraints.real)
    known = constraints.dependent(is_discrete=True, event_dim=2)
    assert (known.is_discrete, known.event_dim) == (True, 2)


def test_validation_can_be_turned_off():
    assert d.Normal(0.0, -1.0, validate_args=False).scale == -1
    value = flambeau.tensor(flambeau.nan)
    assert d.Normal(0.0, 1.0, validate_args=False).log_prob(value).isnan()
    d.Distribution.set_default_validate_args(False)
    try:
        d.Normal(0.0, -1.0)
        with pytest.raises(ValueError, match="parameter scale"):
            d.Normal(0.0, -1.0, validate_args=True)
    finally:
        d.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError, match="parameter scale"):
        d.Normal(0.0, -1.0)


def test_own_distribution():
    class Nothing(d.Distribution):
        pass

    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        Nothing()
    with pytest.raises(NotImplementedError):
        Nothing(validate_args=False).sample()

    class Half(d.Distribution):
        arg_constraints = {"x": constraints.positive}

        def __init__(self, x):
            self.x = x
            super().__init__(x.shape)

        def log_prob(self, value):
            self._validate_sample(value)
            return -value / self.x

    with pytest.raises(ValueError, match="parameter x"):
        Half(flambeau.tensor(-1.0))
    with pytest.warns(UserWarning, match="does not define `support`"):
        Half(flambeau.tensor(1.0)).log_prob(flambeau.tensor(1.0))

    class Centred(d.Normal):
        def __init__(self, scale):
            super().__init__(0.0, scale)

    with pytest.raises(NotImplementedError, match="Centred of Normal .* custom .expand"):
        Centred(1.0).expand((2,))

    class Plain(d.Normal):
        pass

    assert type(Plain(0.0, 1.0).expand((2,))) is Plain


def test_sample_n_is_deprecated():
    with pytest.warns(FutureWarning, match="sample_n"):
        assert d.Normal(flambeau.zeros(2), 1.0).sample_n(3).shape == (3, 2)


def test_lazy_attributes():
    p = d.Bernoulli(logits=flambeau.tensor([0.3]))
    assert "probs" not in p.__dict__ and repr(p) == "Bernoulli(logits: tensor([0.3000]))"
    with flambeau.no_grad():
        probs = p.probs
    assert p.probs is probs
    assert repr(p) == "Bernoulli(probs: tensor([0.5744]), logits: tensor([0.3000]))"
    logits = flambeau.tensor([0.3], requires_grad=True)
    p = d.Bernoulli(logits=logits)
    with flambeau.no_grad():  # has its history all the same
        assert p.probs.requires_grad
    assert isinstance(d.Bernoulli.probs, property)
    assert p.expand((2, 1)).probs.shape == (2, 1)


def test_broadcast_all():
    x, y = utils.broadcast_all(1, flambeau.zeros(2, dtype=flambeau.float64))
    assert x.dtype is y.dtype is flambeau.float64 and x.shape == (2,)
    assert [v.dtype for v in utils.broadcast_all(1, 2)] == [flambeau.float32] * 2
    assert utils.broadcast_all(flambeau.tensor(1), 2.5)[1].item() == 2


@pytest.mark.parametrize("diag", [-2, -1, 0, 1])
def test_triangles(diag):
    mat = flambeau.randn(2, 4, 4)
    vec = utils.tril_matrix_to_vec(mat, diag)
    assert flambeau.equal(utils.vec_to_tril_matrix(vec, diag), mat.tril(diag))


def test_names_and_modules():
    assert sorted(set(d.__all__) - {n for n in dir(d) if hasattr(d, n)}) == []
    assert d.normal.Normal is d.Normal and d.studentT.StudentT is d.StudentT
    assert d.relaxed_bernoulli.LogitRelaxedBernoulli and d.relaxed_categorical.ExpRelaxedCategorical
    assert d.constraint_registry.biject_to is d.biject_to
    assert d.transforms.ExpTransform is d.ExpTransform and d.transforms._InverseTransform


def test_is_imported_when_asked_for():
    code = (
        "import sys, flambeau; assert not any('distributions' in m for m in sys.modules);"
        "flambeau.distributions.Normal"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_wishart_warns_of_few_degrees_of_freedom():
    with pytest.warns(UserWarning, match="Low df"):
        d.Wishart(flambeau.tensor(2.5), flambeau.eye(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        d.Wishart(flambeau.tensor(3.5), flambeau.eye(3)).sample((5,))


@pytest.mark.parametrize("sample_shape, batch", [((), ()), ((4,), ()), ((2, 3), (2,))])
def test_singular_samples_of_wishart_are_drawn_anew(sample_shape, batch, monkeypatch):
    ours = d.Wishart(flambeau.full(batch, 5.0), flambeau.eye(2))
    original, calls = d.Wishart._is_singular, []

    def first_is_singular(self, sample):
        found = original(self, sample)
        calls.append(tuple(found.shape))
        if len(calls) == 1:
            found.view(-1)[-1] = True
        return found

    monkeypatch.setattr(d.Wishart, "_is_singular", first_is_singular)
    with pytest.warns(UserWarning, match="Singular sample"):
        x = ours.rsample(sample_shape)
    assert (
        x.shape == (*sample_shape, *batch, 2, 2) and d.constraints.positive_definite.check(x).all()
    )
    assert calls == [sample_shape, (1,)]
