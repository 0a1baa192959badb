"""Kullback-Leibler divergences of distributions of two kinds.

Each is ``-H(p) - E_p[log q(x)]``. Where the support of p reaches out of that of q it is infinite.
"""

from __future__ import annotations

import math

import flambeau

from . import _kl_same as _kl_same
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .continuous_bernoulli import ContinuousBernoulli
from .exponential import Exponential
from .gamma import Gamma
from .gumbel import Gumbel
from .kl import _infinite_like, register_kl
from .laplace import Laplace
from .normal import Normal
from .pareto import Pareto
from .poisson import Poisson
from .uniform import Uniform
from .utils import euler_constant


def _infinite(parameter, p_type, *q_types):
    """Registers infinity, in the shape of one of p's parameters."""

    def formula(p, q):
        return _infinite_like(getattr(p, parameter))

    for q_type in q_types:
        register_kl(p_type, q_type)(formula)


_infinite("concentration1", Beta, Pareto)
_infinite("probs", ContinuousBernoulli, Pareto)
_infinite("rate", Exponential, Beta, ContinuousBernoulli, Pareto, Uniform)
_infinite("concentration", Gamma, Beta, ContinuousBernoulli, Pareto, Uniform)
for _parameter, _type in (("loc", Gumbel), ("loc", Laplace), ("loc", Normal)):
    _infinite(_parameter, _type, Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)
_infinite("scale", Pareto, Beta, ContinuousBernoulli, Uniform)
_infinite("rate", Poisson, Bernoulli, Binomial)


def _outside(kl, condition):
    """Infinity where p has mass that q has not."""
    kl, condition = flambeau.broadcast_tensors(kl, condition)
    return kl.masked_fill(condition, flambeau.inf)


def _normal_cross(q, mean, variance):
    """-E[log q] for a normal q and a p of this mean and variance."""
    square = variance + (mean - q.loc).pow(2)
    return 0.5 * math.log(2 * math.pi) + q.scale.log() + 0.5 * square / q.scale.pow(2)


def _exponential_cross(q, mean):
    """-E[log q] for an exponential q."""
    return q.rate * mean - q.rate.log()


def _gamma_cross(q, mean, mean_log):
    """-E[log q] for a gamma q and a p with these expectations of x and log x."""
    return (
        q.concentration.lgamma()
        - q.concentration * q.rate.log()
        - (q.concentration - 1) * mean_log
        + q.rate * mean
    )


def _gumbel_cross(q, mean, mean_exp):
    """-E[log q] for a Gumbel q; ``mean_exp`` is E[exp(-x / q.scale)]."""
    z = (mean - q.loc) / q.scale
    return q.scale.log() + z + (q.loc / q.scale).exp() * mean_exp


@register_kl(Bernoulli, Poisson)
def _kl_bernoulli_poisson(p, q):
    # 0! = 1! = 1
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, ContinuousBernoulli)
def _kl_beta_continuous_bernoulli(p, q):
    log_failure = flambeau.log1p(-q.probs)
    return -p.entropy() - p.mean * q.logits - log_failure - q._cont_bern_log_norm()


@register_kl(Beta, Exponential)
def _kl_beta_exponential(p, q):
    return -p.entropy() + _exponential_cross(q, p.mean)


@register_kl(Beta, Gamma)
def _kl_beta_gamma(p, q):
    total = p.concentration1 + p.concentration0
    mean_log = p.concentration1.digamma() - total.digamma()
    return -p.entropy() + _gamma_cross(q, p.mean, mean_log)


@register_kl(Beta, Normal)
def _kl_beta_normal(p, q):
    return -p.entropy() + _normal_cross(q, p.mean, p.variance)


@register_kl(Beta, Uniform)
def _kl_beta_uniform(p, q):
    kl = -p.entropy() + (q.high - q.low).log()
    return _outside(kl, (q.low > 0) | (q.high < 1))


@register_kl(ContinuousBernoulli, Exponential)
def _kl_continuous_bernoulli_exponential(p, q):
    return -p.entropy() + _exponential_cross(q, p.mean)


@register_kl(ContinuousBernoulli, Normal)
def _kl_continuous_bernoulli_normal(p, q):
    return -p.entropy() + _normal_cross(q, p.mean, p.variance)


@register_kl(ContinuousBernoulli, Uniform)
def _kl_continuous_bernoulli_uniform(p, q):
    kl = -p.entropy() + (q.high - q.low).log()
    return _outside(kl, (q.low > 0) | (q.high < 1))


@register_kl(Exponential, Gamma)
def _kl_exponential_gamma(p, q):
    return -p.entropy() + _gamma_cross(q, p.mean, -euler_constant - p.rate.log())


@register_kl(Exponential, Gumbel)
def _kl_exponential_gumbel(p, q):
    # E[exp(-x / s)] = rate / (rate + 1 / s)
    product = p.rate * q.scale
    return -p.entropy() + _gumbel_cross(q, p.mean, product / (product + 1))


@register_kl(Exponential, Normal)
def _kl_exponential_normal(p, q):
    return -p.entropy() + _normal_cross(q, p.mean, p.variance)


@register_kl(Gamma, Exponential)
def _kl_gamma_exponential(p, q):
    return -p.entropy() + _exponential_cross(q, p.mean)


@register_kl(Gamma, Gumbel)
def _kl_gamma_gumbel(p, q):
    # E[exp(-x / s)] = (1 + 1 / (rate·s))^-concentration
    mean_exp = (-p.concentration * (1 + 1 / (p.rate * q.scale)).log()).exp()
    return -p.entropy() + _gumbel_cross(q, p.mean, mean_exp)


@register_kl(Gamma, Normal)
def _kl_gamma_normal(p, q):
    return -p.entropy() + _normal_cross(q, p.mean, p.variance)


@register_kl(Gumbel, Normal)
def _kl_gumbel_normal(p, q):
    return -p.entropy() + _normal_cross(q, p.mean, p.variance)


@register_kl(Laplace, Normal)
def _kl_laplace_normal(p, q):
    return -p.entropy() + _normal_cross(q, p.mean, p.variance)


@register_kl(Normal, Gumbel)
def _kl_normal_gumbel(p, q):
    # E[exp(-x / s)] = exp(-loc / s + (scale / s)² / 2)
    mean_exp = (-p.loc / q.scale + 0.5 * (p.scale / q.scale).pow(2)).exp()
    return -p.entropy() + _gumbel_cross(q, p.mean, mean_exp)


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p, q):
    # the mean magnitude of a normal number (folded normal distribution)
    shift = p.loc - q.loc
    z = shift / p.scale
    magnitude = math.sqrt(2 / math.pi) * p.scale * flambeau.exp(-0.5 * z.pow(2)) + shift * (
        flambeau.erf(math.sqrt(0.5) * z)
    )
    return -p.entropy() + (2 * q.scale).log() + magnitude / q.scale


@register_kl(Pareto, Exponential)
def _kl_pareto_exponential(p, q):
    kl = -p.entropy() + _exponential_cross(q, p.mean)
    return _outside(kl, p.alpha <= 1)


@register_kl(Pareto, Gamma)
def _kl_pareto_gamma(p, q):
    mean_log = p.scale.log() + p.alpha.reciprocal()
    kl = -p.entropy() + _gamma_cross(q, p.mean, mean_log)
    return _outside(kl, p.alpha <= 1)


@register_kl(Pareto, Normal)
def _kl_pareto_normal(p, q):
    kl = -p.entropy() + _normal_cross(q, p.mean, p.variance)
    return _outside(kl, p.alpha <= 2)


def _mean_x_log_x(low, high):
    """E[log x] of a uniform number, from ∫ log x = x·log x - x."""
    return (flambeau.xlogy(high, high) - flambeau.xlogy(low, low)) / (high - low) - 1


@register_kl(Uniform, Beta)
def _kl_uniform_beta(p, q):
    # inside [0, 1] only, where both logarithms exist
    low, high = p.low.clamp(0, 1), p.high.clamp(0, 1)
    a, b = q.concentration1, q.concentration0
    log_beta = a.lgamma() + b.lgamma() - (a + b).lgamma()
    kl = (
        -p.entropy()
        + log_beta
        - (a - 1) * _mean_x_log_x(low, high)
        - (b - 1) * _mean_x_log_x(1 - high, 1 - low)
    )
    return _outside(kl, (p.high > 1) | (p.low < 0))


@register_kl(Uniform, ContinuousBernoulli)
def _kl_uniform_continuous_bernoulli(p, q):
    kl = -p.entropy() - p.mean * q.logits - flambeau.log1p(-q.probs) - q._cont_bern_log_norm()
    return _outside(kl, (p.high > 1) | (p.low < 0))


@register_kl(Uniform, Exponential)
def _kl_uniform_exponential(p, q):
    return _outside(-p.entropy() + _exponential_cross(q, p.mean), p.low < 0)


@register_kl(Uniform, Gamma)
def _kl_uniform_gamma(p, q):
    mean_log = _mean_x_log_x(p.low.clamp(min=0), p.high)
    return _outside(-p.entropy() + _gamma_cross(q, p.mean, mean_log), p.low < 0)


@register_kl(Uniform, Gumbel)
def _kl_uniform_gumbel(p, q):
    span = p.high - p.low
    mean_exp = q.scale / span * ((-p.low / q.scale).exp() - (-p.high / q.scale).exp())
    return -p.entropy() + _gumbel_cross(q, p.mean, mean_exp)


@register_kl(Uniform, Normal)
def _kl_uniform_normal(p, q):
    return -p.entropy() + _normal_cross(q, p.mean, p.variance)


@register_kl(Uniform, Pareto)
def _kl_uniform_pareto(p, q):
    mean_log = _mean_x_log_x(p.low.clamp(min=0), p.high)
    cross = -q.alpha.log() - q.alpha * q.scale.log() + (q.alpha + 1) * mean_log
    return _outside(-p.entropy() + cross, p.low < q.scale)
