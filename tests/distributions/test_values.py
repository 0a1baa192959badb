"""Densities and moments against SciPy; samples against moments; derivatives; divergences."""

from __future__ import annotations

import math

import pytest

import flambeau
from flambeau import distributions as d
from flambeau.autograd import gradcheck, gradgradcheck

scipy = pytest.importorskip("scipy")
stats = pytest.importorskip("scipy.stats")
special = pytest.importorskip("scipy.special")
numpy = pytest.importorskip("numpy")


@pytest.fixture(autouse=True)
def _float64(_fresh_state):
    flambeau.set_default_dtype(flambeau.float64)


def tensor(*values):
    return flambeau.tensor(list(values))


A, B, C = [0.7, 1.0, 2.5, 30.0], [1.5, 0.4, 3.0, 2.0], [5.0, 6.5, 4.5, 9.0]
L = [0.0, -1.0, 2.0, 10.0]
N, P = [1, 5, 30, 200], [0.2, 0.5, 0.9, 0.01]
K = [-0.2, 0.1, 0.3, 0.45]
# Distribution, parameters, SciPy's with the same ones.
CONTINUOUS = {
    "Beta": (d.Beta, (A, B), lambda a, b: stats.beta(a, b)),
    "Cauchy": (d.Cauchy, (L, B), lambda m, s: stats.cauchy(m, s)),
    "Chi2": (d.Chi2, (C,), lambda k: stats.chi2(k)),
    "Exponential": (d.Exponential, (A,), lambda r: stats.expon(scale=1 / r)),
    "FisherSnedecor": (d.FisherSnedecor, (B, C), lambda a, b: stats.f(a, b)),
    "Gamma": (d.Gamma, (A, B), lambda a, r: stats.gamma(a, scale=1 / r)),
    "GeneralizedPareto": (
        d.GeneralizedPareto,
        (L, B, K),
        lambda m, s, k: stats.genpareto(k, m, s),
    ),
    "Gumbel": (d.Gumbel, (L, B), lambda m, s: stats.gumbel_r(m, s)),
    "HalfCauchy": (d.HalfCauchy, (B,), lambda s: stats.halfcauchy(scale=s)),
    "HalfNormal": (d.HalfNormal, (B,), lambda s: stats.halfnorm(scale=s)),
    "InverseGamma": (d.InverseGamma, (C, B), lambda a, r: stats.invgamma(a, scale=r)),
    "Laplace": (d.Laplace, (L, B), lambda m, s: stats.laplace(m, s)),
    "LogNormal": (d.LogNormal, ([0.0, 0.5, -1.0, 1.0], [0.3, 0.9, 0.5, 0.2]),
                  lambda m, s: stats.lognorm(s, scale=numpy.exp(m))),
    "Normal": (d.Normal, (L, B), lambda m, s: stats.norm(m, s)),
    "Pareto": (d.Pareto, (B, C), lambda s, a: stats.pareto(a, scale=s)),
    "StudentT": (d.StudentT, (C, L, B), lambda k, m, s: stats.t(k, m, s)),
    "Uniform": (d.Uniform, (L, [1.0, 2.0, 2.5, 100.0]), lambda a, b: stats.uniform(a, b - a)),
    "VonMises": (d.VonMises, ([0.0, 1.0, -2.0, 3.0], [0.5, 2.0, 30.0, 700.0]),
                 lambda m, k: stats.vonmises(k, m)),
    "Weibull": (d.Weibull, (B, [0.7, 1.0, 1.5, 4.0]), lambda s, k: stats.weibull_min(k, scale=s)),
}  # fmt: skip
DISCRETE = {
    "Bernoulli": (d.Bernoulli, (P,), lambda p: stats.bernoulli(p)),
    "Binomial": (d.Binomial, (N, P), lambda n, p: stats.binom(n, p)),
    "Geometric": (d.Geometric, (P,), lambda p: stats.geom(p, -1)),
    "NegativeBinomial": (d.NegativeBinomial, (A, P), lambda n, p: stats.nbinom(n, 1 - p)),
    "Poisson": (d.Poisson, (A,), lambda r: stats.poisson(r)),
}
ALL = {**CONTINUOUS, **DISCRETE}
NO_MEAN = ("Cauchy", "HalfCauchy")


def pair(name):
    make, parameters, theirs = ALL[name]
    ours = make(*map(flambeau.tensor, parameters))
    return ours, theirs(*map(numpy.array, parameters))


def same(got, want, rel=1e-9):
    numpy.testing.assert_allclose(got.numpy(), want, rtol=rel, atol=1e-12)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name):
    ours, theirs = pair(name)
    levels = numpy.array([0.001, 0.1, 0.5, 0.9, 0.999])[:, None]
    x = theirs.ppf(levels)
    value = flambeau.from_numpy(x)
    same(ours.log_prob(value), theirs.logpdf(x))
    for method, want in (("cdf", theirs.cdf(x)), ("icdf", x)):
        argument = value if method == "cdf" else flambeau.from_numpy(levels).expand(5, 4)
        try:
            got = getattr(ours, method)(argument)
        except NotImplementedError:
            assert name in ("Beta", "Chi2", "FisherSnedecor", "Gamma", "InverseGamma", "StudentT",
                            "VonMises")  # fmt: skip
            continue
        same(got, want, rel=1e-8)
    if name != "VonMises":
        try:
            same(ours.entropy(), theirs.entropy(), rel=1e-7)
        except NotImplementedError:
            assert name == "FisherSnedecor"


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete(name):
    ours, theirs = pair(name)
    x = numpy.arange(2.0 if name == "Bernoulli" else 2.0)[:, None] + numpy.zeros(4)
    if name not in ("Bernoulli", "Binomial"):
        x = numpy.concatenate([x, x + 2, x + 20])
    same(ours.log_prob(flambeau.from_numpy(x)), theirs.logpmf(x))
    if name in ("Bernoulli", "Geometric"):
        same(ours.entropy(), theirs.entropy(), rel=1e-7)


@pytest.mark.parametrize("name", ALL)
def test_moments(name):
    ours, theirs = pair(name)
    if name not in (*NO_MEAN, "VonMises"):
        same(ours.mean, theirs.mean())
        same(ours.variance, theirs.var())
        same(ours.stddev, theirs.std())


@pytest.mark.parametrize("name", ALL)
def test_samples(name):
    """The share of samples below quartiles, within five standard deviations."""
    ours, theirs = pair(name)
    n = 20000
    flambeau.manual_seed(7)
    x = ours.sample((n,)).numpy()
    assert x.shape == (n, 4)
    if name == "VonMises":  # the same angles, SciPy's turns
        assert (abs(x) <= math.pi).all()
        x = (x - ours.loc.numpy() + math.pi) % (2 * math.pi) - math.pi + ours.loc.numpy()
    for level in (0.25, 0.5, 0.75):
        at = theirs.ppf(level)
        want = theirs.cdf(at)
        got = (x <= at).mean(0)
        assert (abs(got - want) <= 5 * numpy.sqrt(want * (1 - want) / n) + 1e-9).all()


def test_multivariate():
    loc, cov = [0.5, -1.0, 2.0], [[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 1.5]]
    theirs = stats.multivariate_normal(loc, cov)
    x = numpy.array([[0.1, 0.2, 0.3], [3.0, -2.0, 1.0]])
    value = flambeau.from_numpy(x)
    whole = flambeau.tensor(cov)
    for option in (
        {"covariance_matrix": whole},
        {"precision_matrix": whole.inverse()},
        {"scale_tril": flambeau.linalg.cholesky(whole)},
    ):
        ours = d.MultivariateNormal(flambeau.tensor(loc), **option)
        same(ours.log_prob(value), theirs.logpdf(x))
        same(ours.entropy(), theirs.entropy())
        same(ours.covariance_matrix, cov)
        same(ours.precision_matrix, numpy.linalg.inv(cov))
        same(ours.variance, numpy.diag(cov))
    factor, diagonal = flambeau.tensor([[1.0], [0.5], [-1.0]]), tensor(1.0, 2.0, 0.5)
    low = d.LowRankMultivariateNormal(flambeau.tensor(loc), factor, diagonal)
    cov = (factor @ factor.mT + diagonal.diag()).numpy()
    theirs = stats.multivariate_normal(loc, cov)
    same(low.log_prob(value), theirs.logpdf(x))
    same(low.entropy(), theirs.entropy())
    same(low.scale_tril @ low.scale_tril.mT, cov)
    same(low.precision_matrix, numpy.linalg.inv(cov))
    x = numpy.array([0.2, 0.3, 0.5])
    theirs = stats.dirichlet([0.5, 2.0, 3.0])
    ours = d.Dirichlet(tensor(0.5, 2.0, 3.0))
    same(ours.log_prob(flambeau.from_numpy(x)), theirs.logpdf(x))
    same(ours.entropy(), theirs.entropy())
    same(ours.mean, theirs.mean())
    same(ours.variance, theirs.var())
    counts = numpy.array([1.0, 0.0, 3.0])
    theirs = stats.multinomial(4, [0.2, 0.3, 0.5])
    ours = d.Multinomial(4, tensor(0.2, 0.3, 0.5))
    same(ours.log_prob(flambeau.from_numpy(counts)), theirs.logpmf(counts))
    same(ours.entropy(), theirs.entropy())
    scale = numpy.array([[2.0, 0.3], [0.3, 1.0]])
    theirs = stats.wishart(5, scale)
    ours = d.Wishart(tensor(5.0)[0], flambeau.from_numpy(scale))
    same(ours.log_prob(flambeau.from_numpy(3 * scale + 1)), theirs.logpdf(3 * scale + 1))
    same(ours.entropy(), theirs.entropy())
    same(ours.mean, theirs.mean())
    same(ours.variance, theirs.var())
    same(ours.mode, theirs.mode())


def test_samples_of_vectors():
    flambeau.manual_seed(3)
    n = 40000
    cov = flambeau.tensor([[2.0, 0.3], [0.3, 1.0]])
    for x in (
        d.MultivariateNormal(tensor(1.0, -1.0), cov).sample((n,)),
        d.LowRankMultivariateNormal(
            tensor(1.0, -1.0), flambeau.tensor([[1.0], [0.3]]), tensor(1.0, 0.91)
        ).sample((n,)),
    ):
        assert (x.mean(0) - tensor(1.0, -1.0)).abs().max() < 0.03
        assert (flambeau.cov(x.mT) - cov).abs().max() < 0.06
    x = d.Wishart(tensor(4.0)[0], cov).sample((n,))
    assert (x.mean(0) - 4 * cov).abs().max() < 0.15
    x = d.Dirichlet(tensor(0.5, 1.5, 2.0)).sample((n,))
    assert (x.mean(0) - tensor(0.125, 0.375, 0.5)).abs().max() < 0.01
    x = d.Multinomial(10, tensor(0.2, 0.3, 0.5)).sample((n,))
    assert (x.sum(-1) == 10).all() and (x.mean(0) - tensor(2.0, 3.0, 5.0)).abs().max() < 0.03
    x = d.LKJCholesky(2, 2.0).sample((n,))
    r = (x @ x.mT)[:, 0, 1]  # Beta(2, 2) on [-1, 1]
    assert r.mean().abs() < 0.01 and (r.var() - 0.2).abs() < 0.01


def test_modes_are_the_likeliest_values():
    for name in ("Beta", "Gamma", "Weibull", "InverseGamma", "FisherSnedecor", "LogNormal"):
        make, parameters, _ = ALL[name]
        high = [3.0, 2.5, 4.0]
        ours = make(*(flambeau.tensor(high) for _ in parameters))
        best = ours.log_prob(ours.mode)
        for factor in (0.99, 1.01):
            assert (ours.log_prob(ours.mode * factor) < best).all(), name
    k = d.Kumaraswamy(tensor(2.0, 3.0), tensor(3.0, 1.5))
    for factor in (0.99, 1.01):
        assert (k.log_prob(k.mode * factor) < k.log_prob(k.mode)).all()
    assert d.Weibull(1.0, 0.5).mode == 0  # the density rises towards 0


def test_kumaraswamy_and_generalized_pareto_integrate_to_one():
    x = flambeau.linspace(1e-7, 1 - 1e-7, 200001)
    k = d.Kumaraswamy(2.0, 3.0)
    assert flambeau.trapezoid(k.log_prob(x).exp(), x).item() == pytest.approx(1, abs=1e-6)
    assert flambeau.trapezoid(x * k.log_prob(x).exp(), x).item() == pytest.approx(k.mean.item())
    assert -flambeau.trapezoid(
        flambeau.xlogy(k.log_prob(x).exp(), k.log_prob(x).exp()), x
    ).item() == pytest.approx(k.entropy().item())
    c = d.ContinuousBernoulli(tensor(0.2, 0.4995, 0.5, 0.8))
    y = x[:, None]
    density = c.log_prob(y).exp()
    same(flambeau.trapezoid(density, y, dim=0), numpy.ones(4), rel=1e-6)
    same(flambeau.trapezoid(y * density, y, dim=0), c.mean.numpy(), rel=1e-5)
    second = flambeau.trapezoid((y - c.mean) ** 2 * density, y, dim=0)
    same(second, c.variance.numpy(), rel=1e-5)
    same(-flambeau.trapezoid(density * density.log(), y, dim=0), c.entropy().numpy(), rel=1e-5)


GAMMA_SHAPES = [1e-3, 0.05, 0.5, 0.9999, 1.0, 1.5, 3.0, 20.0, 300.0, 9999.0, 10001.0, 1e6]


def test_gamma_derivative():
    """By differences of SciPy's quantiles."""
    a = numpy.array(GAMMA_SHAPES)
    h = a * 1e-5
    for level in (1e-4, 0.1, 0.5, 0.9, 0.9999):
        x = special.gammaincinv(a, level)
        want = (special.gammaincinv(a + h, level) - special.gammaincinv(a - h, level)) / (2 * h)
        got = flambeau._standard_gamma_grad(flambeau.from_numpy(a), flambeau.from_numpy(x))
        usual = x > 1e-280
        numpy.testing.assert_allclose(got.numpy()[usual], want[usual], rtol=2e-6)
    with pytest.raises(NotImplementedError, match="_standard_gamma_grad"):
        shape = flambeau.tensor([2.0], requires_grad=True)
        (slope,) = flambeau.autograd.grad(flambeau._standard_gamma(shape), shape, create_graph=True)
        flambeau.autograd.grad(slope, shape)
    assert flambeau._standard_gamma_grad(tensor(1.0), tensor(0.0)).item() == 0
    assert flambeau._standard_gamma_grad(tensor(-1.0), tensor(1.0)).isnan().all()
    assert flambeau._standard_gamma_grad(tensor(1.0), tensor(math.inf)).isnan().all()


def test_dirichlet_derivative():
    a = numpy.array([0.05, 0.5, 1.0, 1.5, 3.0, 20.0, 300.0, 1e5, 2.0, 1e4])
    b = numpy.array([0.5, 0.1, 1.0, 4.0, 2.0, 100.0, 30.0, 1e5, 1e4, 2.0])
    h = a * 1e-5
    for level in (1e-3, 0.1, 0.5, 0.9, 0.999):
        x = special.betaincinv(a, b, level)
        want = special.betaincinv(a + h, b, level) - special.betaincinv(a - h, b, level)
        with numpy.errstate(divide="ignore", invalid="ignore"):
            want = want / (2 * h) / (1 - x)
        got = flambeau._dirichlet_grad(*map(flambeau.from_numpy, (x, a, a + b))).numpy()
        usual = (x > 1e-200) & (x < 1 - 1e-4)
        numpy.testing.assert_allclose(got[usual], want[usual], rtol=2e-5)


def test_refused_dtypes():
    x = flambeau.tensor([1, 2])
    for call in (
        lambda: flambeau._standard_gamma(x),
        lambda: flambeau._sample_dirichlet(x),
        lambda: flambeau._standard_gamma_grad(x, x),
        lambda: flambeau._dirichlet_grad(x, x, x),
    ):
        with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
            call()
    with pytest.raises(RuntimeError, match="expected output of dtype"):
        flambeau._standard_gamma_grad(tensor(1.0), tensor(1.0).float())
    meta = flambeau.ones(2, 3, device="meta")
    assert flambeau._standard_gamma(meta).shape == flambeau._sample_dirichlet(meta).shape == (2, 3)
    assert flambeau._sample_dirichlet(flambeau.ones(0, 3)).shape == (0, 3)
    assert flambeau._standard_gamma(flambeau.zeros(2)).gt(0).all()  # the logarithm stays finite
    odd = flambeau._standard_gamma(tensor(-5.0, math.nan, math.inf))
    assert odd[:2].isnan().all() and odd[2] == math.inf


DERIVED = {
    "Beta": (d.Beta, (A[:3], B[:3])),
    "Categorical": (d.Categorical, ([0.2, 0.5, 0.3],)),
    "ContinuousBernoulli": (d.ContinuousBernoulli, ([0.2, 0.5, 0.7],)),
    "Dirichlet": (d.Dirichlet, ([0.5, 2.0, 3.0],)),
    "FisherSnedecor": (d.FisherSnedecor, (B[:3], C[:3])),
    "Gamma": (d.Gamma, (A[:3], B[:3])),
    "GeneralizedPareto": (d.GeneralizedPareto, (L[:3], B[:3], [-0.2, 0.1, 0.3])),
    "Gumbel": (d.Gumbel, (L[:3], B[:3])),
    "Kumaraswamy": (d.Kumaraswamy, (A[:3], B[:3])),
    "LKJCholesky": (lambda c: d.LKJCholesky(3, c), ([0.5, 1.5],)),
    "LogisticNormal": (d.LogisticNormal, (L[:3], B[:3])),
    "LowRankMultivariateNormal": (
        d.LowRankMultivariateNormal,
        (L[:2], [[1.0], [0.5]], [1.0, 2.0]),
    ),
    "Mixture": (
        lambda w, m, s: d.MixtureSameFamily(d.Categorical(w), d.Normal(m, s)),
        ([0.2, 0.5, 0.3], L[:3], B[:3]),
    ),
    "Multinomial": (lambda p: d.Multinomial(3, p), ([0.2, 0.5, 0.3],)),
    "MultivariateNormal": (
        lambda m, c: d.MultivariateNormal(m, (c + c.mT) / 2),
        (L[:2], [[2.0, 0.3], [0.3, 1.0]]),
    ),
    "NegativeBinomial": (d.NegativeBinomial, (A[:3], P[:3])),
    "Normal": (d.Normal, (L[:3], B[:3])),
    "RelaxedOneHotCategorical": (d.RelaxedOneHotCategorical, (0.5, [0.2, 0.5, 0.3])),
    "StudentT": (d.StudentT, (C[:3], L[:3], B[:3])),
    "VonMises": (d.VonMises, (L[:3], B[:3])),
    "Wishart": (lambda k, c: d.Wishart(k, (c + c.mT) / 2), (5.0, [[2.0, 0.3], [0.3, 1.0]])),
}


@pytest.mark.parametrize("name", DERIVED)
def test_derivatives_of_log_prob(name):
    make, parameters = DERIVED[name]
    parameters = [flambeau.tensor(p, requires_grad=True) for p in parameters]
    value = make(*parameters).sample((2,))

    def log_prob(*parameters):
        return make(*parameters).log_prob(value)

    assert gradcheck(log_prob, parameters)
    assert gradgradcheck(log_prob, parameters)


@pytest.mark.parametrize(
    "name",
    [name for name in CONTINUOUS if pair(name)[0].has_rsample],
)
def test_gradients_of_samples(name):
    """The density moves with the samples: d/dθ E[h(x)] = E[h'(x)·dx/dθ]."""
    make, parameters, _ = ALL[name]
    # bounded h, whose expectation is integrated over quantiles by SciPy
    parameters = [flambeau.tensor(p[:3], requires_grad=True) for p in parameters]
    flambeau.manual_seed(1)
    x = make(*parameters).rsample((60000,))
    got = flambeau.autograd.grad(flambeau.tanh(x).mean(0).sum(), parameters)
    theirs = ALL[name][2]
    levels = (numpy.arange(20000)[:, None] + 0.5) / 20000

    def expectation(values):
        return numpy.tanh(theirs(*values).ppf(levels)).mean(0)

    for i, slope in enumerate(got):
        base = [p.detach().numpy() for p in parameters]
        h = 1e-4
        up, down = [list(base), list(base)]
        up[i], down[i] = base[i] + h, base[i] - h
        want = (expectation(up) - expectation(down)) / (2 * h)
        numpy.testing.assert_allclose(slope.numpy(), want, rtol=0.05, atol=6e-3)


@pytest.mark.parametrize(
    "p, q",
    [
        (d.Gamma(2.0, 3.0), d.Gumbel(0.5, 0.8)),
        (d.Beta(2.0, 3.0), d.Normal(0.3, 0.5)),
        (d.Uniform(0.1, 0.7), d.Beta(2.0, 3.0)),
        (d.Normal(0.5, 0.8), d.Laplace(0.0, 1.0)),
        (d.Normal(0.5, 0.8), d.Gumbel(0.0, 1.0)),
        (d.Gumbel(0.5, 0.8), d.Gumbel(0.0, 1.0)),
        (d.Laplace(0.5, 0.8), d.Laplace(0.0, 1.0)),
        (d.Pareto(1.0, 4.0), d.Gamma(2.0, 1.0)),
        (d.ContinuousBernoulli(0.3), d.Uniform(0.0, 1.0)),
        (d.Uniform(0.0, 1.0), d.ContinuousBernoulli(0.3)),
        (d.Cauchy(0.5, 0.8), d.Cauchy(0.0, 1.0)),
        (d.Geometric(0.3), d.Geometric(0.4)),
        (d.LogNormal(0.5, 0.8), d.LogNormal(0.0, 1.0)),
        (d.HalfNormal(0.5), d.HalfNormal(0.8)),
        (d.Beta(2.0, 3.0), d.ContinuousBernoulli(0.3)),
    ],
    ids=lambda x: type(x).__name__,
)
def test_divergence_against_samples(p, q):
    flambeau.manual_seed(2)
    x = p.sample((200000,))
    ratio = p.log_prob(x) - q.log_prob(x)
    error = ratio.std() / 200000**0.5
    assert (d.kl_divergence(p, q) - ratio.mean()).abs() < 5 * error


def test_dispatch_of_divergences():
    class Base(d.Distribution):
        arg_constraints: dict = {}

    class Derived(Base):
        pass

    with pytest.raises(NotImplementedError, match="p type Base and q type Derived"):
        d.kl_divergence(Base(), Derived())
    d.register_kl(Base, Derived)(lambda p, q: 1)
    assert d.kl_divergence(Base(), Derived()) == 1
    d.register_kl(Derived, Base)(lambda p, q: 2)
    with pytest.warns(RuntimeWarning, match=r"Ambiguous .*register_kl\(Derived, Derived\)"):
        assert d.kl_divergence(Derived(), Derived()) == 2
    d.register_kl(Derived, Derived)(lambda p, q: 3)
    assert d.kl_divergence(Derived(), Derived()) == 3
    with pytest.raises(TypeError, match="type_p"):
        d.register_kl(3, Base)

    class Own(d.Normal):
        pass

    assert d.kl_divergence(Own(0.0, 1.0), d.Normal(0.0, 1.0)) == 0


def test_exponential_family():
    """Entropy from the log normalizer equals the closed form."""
    for ours in (
        d.Normal(tensor(0.0, 1.0), tensor(1.0, 2.0)),
        d.Gamma(tensor(0.5, 2.0), tensor(1.0, 3.0)),
        d.Exponential(tensor(0.5, 2.0)),
        d.Bernoulli(tensor(0.2, 0.9)),
        d.ContinuousBernoulli(tensor(0.2, 0.9)),
    ):
        got = d.ExponentialFamily.entropy(ours)
        flambeau.testing.assert_close(got, ours.entropy())
    p, q = d.Gamma(2.0, 3.0), d.Gamma(1.0, 0.5)
    family = d.kl._KL_REGISTRY[d.ExponentialFamily, d.ExponentialFamily]
    flambeau.testing.assert_close(family(p, q), d.kl_divergence(p, q))
