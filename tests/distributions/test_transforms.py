"""Transforms: round trips, Jacobians against autograd, shapes, caches, equality, pickling."""

from __future__ import annotations

import copy
import gc
import pickle

import pytest

import flambeau
from flambeau import distributions as d
from flambeau.autograd.functional import jacobian
from flambeau.distributions import constraints


@pytest.fixture(autouse=True)
def _float64(_fresh_state):
    flambeau.set_default_dtype(flambeau.float64)


def tensor(*values):
    return flambeau.tensor(list(values))


# By name: transform, argument.
X = [[0.3, -1.2, 0.8], [2.0, -0.5, 0.1]]
TRANSFORMS = {
    "exp": d.ExpTransform(),
    "power": d.PowerTransform(2.5),
    "sigmoid": d.SigmoidTransform(),
    "softplus": d.SoftplusTransform(),
    "tanh": d.TanhTransform(),
    "affine": d.AffineTransform(flambeau.tensor([1.0, 2.0, 3.0]).double(), -2.0),
    "affine of vectors": d.AffineTransform(1.0, flambeau.tensor([1.0, 2.0, -3.0]).double(), 1),
    "affine of matrices": d.AffineTransform(1.0, flambeau.tensor([1.0, 2.0, -3.0]).double(), 2),
    "correlations": d.CorrCholeskyTransform(),
    "sticks": d.StickBreakingTransform(),
    "independent": d.IndependentTransform(d.TanhTransform(), 1),
    "chain": d.ComposeTransform([d.AffineTransform(1.0, 2.0), d.SigmoidTransform()]),
    "chain of vectors": d.ComposeTransform(
        [d.TanhTransform(), d.StickBreakingTransform(), d.ExpTransform()]
    ),
    "reshape": d.ReshapeTransform((3,), (3, 1)),
    "cat": d.CatTransform([d.ExpTransform(), d.TanhTransform()], -1, [1, 2]),
    "stack": d.StackTransform([d.ExpTransform(), d.TanhTransform(), d.AffineTransform(0, 2)], -1),
    "cdf": d.CumulativeDistributionTransform(
        d.Normal(flambeau.zeros((), dtype=flambeau.float64), 1.0)
    ),
    "identity": d.identity_transform,
}


def argument(name):
    x = flambeau.tensor(X)
    return x.abs() if name == "power" else x


@pytest.mark.parametrize("name", TRANSFORMS)
def test_round_trip(name):
    t, x = TRANSFORMS[name], argument(name)
    y = t(x)
    assert t.bijective and t.inv.bijective and t.inv.inv is t
    assert t.domain.check(x).all() and t.codomain.check(y).all()
    flambeau.testing.assert_close(t.inv(y), x)
    assert t.forward_shape(x.shape) == y.shape and t.inverse_shape(y.shape) == x.shape
    assert t.inv.forward_shape(y.shape) == x.shape
    assert t.inv.domain.event_dim == t.codomain.event_dim


def own_entries(name, y):
    """Coordinates of the image: what depends on others is left out."""
    if name == "correlations":
        return d.utils.tril_matrix_to_vec(y, -1)
    return y[..., :-1] if name == "sticks" or name == "chain of vectors" else y


@pytest.mark.parametrize("name", TRANSFORMS)
def test_jacobian(name):
    t, x = TRANSFORMS[name], argument(name)
    y = t(x)
    got = t.log_abs_det_jacobian(x, y)
    if name != "stack":  # one term for each of its parts
        assert got.shape == x.shape[: x.dim() - t.domain.event_dim]
    if name != "chain of vectors":  # the last exponential counts, though it follows from the others
        rows = [
            jacobian(lambda v, i=i: own_entries(name, t(flambeau.stack([v, v])))[i].flatten(), v)
            for i, v in enumerate(x)
        ]
        want = flambeau.stack([flambeau.linalg.slogdet(row).logabsdet for row in rows])
        summed = got.sum() if got.dim() < 2 else got.sum(-1).sum()
        flambeau.testing.assert_close(summed, want.sum())
    flambeau.testing.assert_close(t.inv.log_abs_det_jacobian(y, x), -got)


def test_transforms_without_inverse():
    x = flambeau.tensor(X)
    assert flambeau.equal(d.AbsTransform()(x), x.abs())
    softmax = d.SoftmaxTransform()
    y = softmax(x)
    flambeau.testing.assert_close(softmax(softmax.inv(y)), y)
    m = flambeau.randn(2, 3, 3)
    for t in (d.LowerCholeskyTransform(), d.PositiveDefiniteTransform()):
        y = t(m)
        assert t.codomain.check(y).all() and not t.bijective
        flambeau.testing.assert_close(t(t.inv(y)), y)
        with pytest.raises(NotImplementedError):
            t.log_abs_det_jacobian(m, y)
    with pytest.raises(NotImplementedError):
        softmax.log_abs_det_jacobian(x, y)


def test_far_values_stay_inside():
    far = tensor(-1e3, -50.0, 50.0, 1e3)
    for t in (d.SigmoidTransform(), d.StickBreakingTransform(), d.CorrCholeskyTransform()):
        x = far[:3] if isinstance(t, d.CorrCholeskyTransform) else far
        y = t(x)
        assert t.codomain.check(y).all() and t.inv(y).isfinite().all()
    assert (d.SigmoidTransform()(far) > 0).all() and (d.SigmoidTransform()(far) < 1).all()
    # 1 - tanh² underflows long before its logarithm does
    assert d.TanhTransform().log_abs_det_jacobian(far, None).isfinite().all()


def test_cache():
    for t in TRANSFORMS.values():
        cached = t.with_cache(1)
        assert cached.with_cache(1) is cached and t.with_cache(0) is t
        x = flambeau.tensor(X).abs()
        y = cached(x)
        if t is d.identity_transform:
            continue
        assert cached(x) is y and cached.inv(y) is x
        assert cached.inv(y + 0) is not x
    stable = d.TransformedDistribution(
        d.Normal(0.0, 1.0), [d.SigmoidTransform(cache_size=1), d.AffineTransform(0, 1e-20, 0, 1)]
    )
    assert stable.log_prob(stable.rsample()).isfinite()


def test_inverse_is_weakly_held():
    t = d.ExpTransform()
    first = id(t.inv)
    assert t.inv is not None and isinstance(first, int)
    kept = t.inv
    assert t.inv is kept
    del kept
    gc.collect()
    chain = d.ComposeTransform([d.ExpTransform(), d.AffineTransform(1.0, 2.0)])
    inverse = chain.inv
    assert inverse.inv is chain and len(inverse.parts) == 2
    flambeau.testing.assert_close(inverse(chain(tensor(0.3))), tensor(0.3))


def test_equality():
    assert d.ExpTransform() == d.ExpTransform() != d.TanhTransform()
    assert d.ExpTransform().inv == d.ExpTransform().inv
    assert d.AffineTransform(0.0, 1.0) == d.AffineTransform(0.0, 1.0) != d.AffineTransform(0, 2.0)
    assert d.AffineTransform(tensor(1.0), 1.0) == d.AffineTransform(1.0, 1.0)
    assert d.PowerTransform(2.0) == d.PowerTransform(2.0) != d.PowerTransform(3.0)
    assert d.ComposeTransform([d.ExpTransform()]) == d.ComposeTransform([d.ExpTransform()])
    reshape = d.ReshapeTransform((2,), (2, 1))
    assert reshape == reshape != d.ReshapeTransform((2,), (2, 1))


def test_signs():
    assert d.ExpTransform().sign == 1 and d.AffineTransform(0, -2.0).sign == -1
    assert d.AffineTransform(0, tensor(1.0, -1.0)).sign.tolist() == [1, -1]
    assert d.PowerTransform(-2.0).sign == -1 and d.ExpTransform().inv.sign == 1
    chain = d.ComposeTransform([d.AffineTransform(0, -1.0), d.ExpTransform()])
    assert chain.sign == -1
    falling = d.TransformedDistribution(d.Normal(0.0, 1.0), [d.AffineTransform(1.0, -2.0)])
    same = d.Normal(1.0, 2.0)
    x = flambeau.linspace(-3.0, 3.0, 7)
    flambeau.testing.assert_close(falling.cdf(x), same.cdf(x))
    flambeau.testing.assert_close(falling.icdf(same.cdf(x)), x)
    flambeau.testing.assert_close(falling.log_prob(x), same.log_prob(x))


@pytest.mark.parametrize("name", TRANSFORMS)
def test_copies(name):
    t, x = TRANSFORMS[name], argument(name)
    t.inv
    for other in (copy.deepcopy(t), pickle.loads(pickle.dumps(t))):
        assert repr(other) == repr(t)
        flambeau.testing.assert_close(other(x), t(x))
        flambeau.testing.assert_close(other.inv(t(x)), x)


def test_representations():
    assert repr(d.ExpTransform().inv) == "_InverseTransform(ExpTransform())"
    chain = d.ComposeTransform([d.ExpTransform(), d.AffineTransform(0, 1)])
    assert repr(chain) == "ComposeTransform(\n    ExpTransform(),\n    AffineTransform()\n)"
    assert repr(d.IndependentTransform(d.ExpTransform(), 1)) == (
        "IndependentTransform(ExpTransform(), 1)"
    )


def test_transformed_shapes():
    base = d.Normal(flambeau.zeros(2, 3), 1.0)
    sticks = d.TransformedDistribution(base, [d.StickBreakingTransform()])
    assert (sticks.batch_shape, sticks.event_shape) == ((2,), (4,))
    assert sticks.sample((5,)).shape == (5, 2, 4) and sticks.log_prob(sticks.sample()).shape == (2,)
    wide = d.TransformedDistribution(d.Normal(0.0, 1.0), d.AffineTransform(flambeau.zeros(3), 1.0))
    assert wide.batch_shape == (3,) and wide.rsample((2,)).shape == (2, 3)
    assert wide.support == constraints.real and sticks.support is constraints.simplex
    flat = d.TransformedDistribution(base, d.ReshapeTransform((2, 3), (6,)))
    assert (flat.batch_shape, flat.event_shape) == ((), (6,))
    again = flat.expand((4,))
    assert again.batch_shape == (4,) and again.log_prob(again.sample()).shape == (4,)


def test_own_transform():
    class Double(d.Transform):
        domain = codomain = constraints.real
        bijective = True
        sign = 1

        def _call(self, x):
            return 2 * x

        def _inverse(self, y):
            return y / 2

        def log_abs_det_jacobian(self, x, y):
            return flambeau.full_like(x, 2.0).log()

    ours = d.TransformedDistribution(d.Normal(0.0, 1.0), [Double()])
    x = tensor(-1.0, 0.5)
    flambeau.testing.assert_close(ours.log_prob(x), d.Normal(0.0, 2.0).log_prob(x))
    assert Double().with_cache().with_cache(0)._cache_size == 0
