"""Kullback-Leibler divergences of two distributions of one kind.

Most are in Gil, Alajaji & Linder, "Rényi divergence measures for commonly used univariate
continuous distributions" (2013), or follow from the expectation of the difference of the log
densities.
"""

from __future__ import annotations

import flambeau

from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .kl import kl_divergence, register_kl
from .laplace import Laplace
from .lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    _batch_lowrank_logdet,
    _batch_lowrank_mahalanobis,
)
from .multivariate_normal import MultivariateNormal, _batch_mahalanobis
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _sum_rightmost, euler_constant


def _batch_trace_XXT(bmat):
    """The trace of X·Xᵀ: the squares of all entries."""
    return bmat.pow(2).sum((-2, -1))


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p, q):
    p1, q1 = flambeau.broadcast_tensors(p.probs, q.probs)
    log_p1, log_p0 = flambeau.log(p1), flambeau.log1p(-p1)
    success = p1 * (log_p1 - flambeau.log(q1))
    failure = (1 - p1) * (log_p0 - flambeau.log1p(-q1))
    success = flambeau.where(q1 == 0, flambeau.inf, success).masked_fill(p1 == 0, 0)
    failure = flambeau.where(q1 == 1, flambeau.inf, failure).masked_fill(p1 == 1, 0)
    return success + failure


@register_kl(Beta, Beta)
def _kl_beta_beta(p, q):
    a, b = p.concentration1, p.concentration0
    c, d = q.concentration1, q.concentration0
    log_beta_p = a.lgamma() + b.lgamma() - (a + b).lgamma()
    log_beta_q = c.lgamma() + d.lgamma() - (c + d).lgamma()
    return (
        log_beta_q
        - log_beta_p
        + (a - c) * a.digamma()
        + (b - d) * b.digamma()
        + (c + d - a - b) * (a + b).digamma()
    )


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p, q):
    # More trials than q makes are impossible there; fewer ones change the binomial coefficients,
    # whose expectation has no closed form.
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    infinite, kl = flambeau.broadcast_tensors(p.total_count > q.total_count, kl)
    return kl.masked_fill(infinite, flambeau.inf)


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p, q):
    terms = p.probs * (p.logits - q.logits)
    terms = terms.masked_fill((q.probs == 0).expand_as(terms), flambeau.inf)
    return terms.masked_fill((p.probs == 0).expand_as(terms), 0).sum(-1)


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p, q):
    # Chyzak & Nielsen, "A closed-form formula for the Kullback-Leibler divergence between Cauchy
    # distributions" (2019)
    over = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return over.log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli_continuous_bernoulli(p, q):
    slope = p.mean * (p.logits - q.logits)
    norm = p._cont_bern_log_norm() - q._cont_bern_log_norm()
    return slope + norm + flambeau.log1p(-p.probs) - flambeau.log1p(-q.probs)


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p, q):
    a, b = p.concentration, q.concentration
    total_a = a.sum(-1)
    norm = total_a.lgamma() - b.sum(-1).lgamma() + (b.lgamma() - a.lgamma()).sum(-1)
    return norm + ((a - b) * (a.digamma() - total_a.digamma().unsqueeze(-1))).sum(-1)


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p, q):
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p, q):
    # The Bregman divergence of the log normalizers (Nielsen & Nock 2010).
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed"
            " using Bregman divergences"
        )
    p_params = [x.detach().requires_grad_() for x in p._natural_params]
    q_params = q._natural_params
    normalizer = p._log_normalizer(*p_params)
    slopes = flambeau.autograd.grad(normalizer.sum(), p_params, create_graph=True)
    result = q._log_normalizer(*q_params) - normalizer
    for p_param, q_param, slope in zip(p_params, q_params, slopes):
        term = (q_param - p_param) * slope
        result = result - _sum_rightmost(term, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p, q):
    return (
        q.concentration * (p.rate / q.rate).log()
        + q.concentration.lgamma()
        - p.concentration.lgamma()
        + (p.concentration - q.concentration) * p.concentration.digamma()
        + (q.rate - p.rate) * (p.concentration / p.rate)
    )


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p, q):
    ratio = p.scale / q.scale
    shift = (q.loc - p.loc) / q.scale
    return (
        -ratio.log()
        - shift
        + euler_constant * (ratio - 1)
        + flambeau.exp(shift + (1 + ratio).lgamma())
        - 1
    )


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p, q):
    return -p.entropy() - flambeau.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p, q):
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p, q):
    distance = (p.loc - q.loc).abs()
    ratio = p.scale / q.scale
    return -ratio.log() + distance / q.scale + ratio * flambeau.exp(-distance / p.scale) - 1


def _half(log_det_ratio, trace, distance, size):
    """½·(log |Σq|/|Σp| + tr Σq⁻¹·Σp + (μq - μp)ᵀ·Σq⁻¹·(μq - μp) - n)"""
    return 0.5 * (log_det_ratio + trace + distance - size)


def _same_size(p, q):
    if p.event_shape != q.event_shape:
        kinds = f"{type(p).__name__} and {type(q).__name__}"
        raise ValueError(
            f"KL-divergence between {kinds} with different event shapes cannot be computed"
        )


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_lowrankmultivariatenormal_lowrankmultivariatenormal(p, q):
    _same_size(p, q)
    W, D = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag
    Wp, Dp = p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag
    # Σq⁻¹ = D⁻¹ - Aᵀ·A (Woodbury): the trace is that of (D⁻¹ - Aᵀ·A)·(Wp·Wpᵀ + Dp)
    A = flambeau.linalg.solve_triangular(q._capacitance_tril, W.mT / D.unsqueeze(-2), upper=False)
    root_Dp, root_D = Dp.sqrt().unsqueeze(-2), D.rsqrt().unsqueeze(-1)
    trace = (
        (Dp / D).sum(-1)
        + _batch_trace_XXT(Wp * root_D)
        - _batch_trace_XXT(A * root_Dp)
        - _batch_trace_XXT(A.matmul(Wp))
    )
    distance = _batch_lowrank_mahalanobis(W, D, q.loc - p.loc, q._capacitance_tril)
    log_dets = _batch_lowrank_logdet(W, D, q._capacitance_tril) - _batch_lowrank_logdet(
        Wp, Dp, p._capacitance_tril
    )
    return _half(log_dets, trace, distance, p.event_shape[0])


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _kl_multivariatenormal_lowrankmultivariatenormal(p, q):
    _same_size(p, q)
    W, D = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag
    L = p._unbroadcasted_scale_tril
    A = flambeau.linalg.solve_triangular(q._capacitance_tril, W.mT / D.unsqueeze(-2), upper=False)
    trace = _batch_trace_XXT(L * D.rsqrt().unsqueeze(-1)) - _batch_trace_XXT(A.matmul(L))
    distance = _batch_lowrank_mahalanobis(W, D, q.loc - p.loc, q._capacitance_tril)
    log_dets = _batch_lowrank_logdet(W, D, q._capacitance_tril) - 2 * p._half_log_det()
    return _half(log_dets, trace, distance, p.event_shape[0])


def _solve_factor(L, X):
    """L⁻¹·X, broadcast over the batch."""
    return flambeau.linalg.solve_triangular(L, X, upper=False)


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _kl_lowrankmultivariatenormal_multivariatenormal(p, q):
    _same_size(p, q)
    L = q._unbroadcasted_scale_tril
    W, D = p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag
    trace = _batch_trace_XXT(_solve_factor(L, W)) + _batch_trace_XXT(
        _solve_factor(L, flambeau.diag_embed(D.sqrt()))
    )
    distance = _batch_mahalanobis(L, q.loc - p.loc)
    log_dets = 2 * q._half_log_det() - p._log_det()
    return _half(log_dets, trace, distance, p.event_shape[0])


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariatenormal_multivariatenormal(p, q):
    _same_size(p, q)
    L = q._unbroadcasted_scale_tril
    trace = _batch_trace_XXT(_solve_factor(L, p._unbroadcasted_scale_tril))
    distance = _batch_mahalanobis(L, q.loc - p.loc)
    log_dets = 2 * (q._half_log_det() - p._half_log_det())
    return _half(log_dets, trace, distance, p.event_shape[0])


@register_kl(Normal, Normal)
def _kl_normal_normal(p, q):
    variances = (p.scale / q.scale).pow(2)
    shift = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (variances + shift - 1 - variances.log())


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p, q):
    return _kl_categorical_categorical(p._categorical, q._categorical)


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p, q):
    ratio = q.alpha / p.alpha
    kl = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    # what lies below q's scale is impossible there
    return kl.masked_fill(p.scale < q.scale, flambeau.inf)


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p, q):
    # a bijection of both changes nothing
    if p.transforms != q.transforms:
        raise NotImplementedError(
            "KL-divergence of transformed distributions is implemented for equal transforms only,"
            f" got {p.transforms} and {q.transforms}"
        )
    if p.event_shape != q.event_shape:
        raise NotImplementedError(
            "KL-divergence of transformed distributions needs equal event shapes, got"
            f" {p.event_shape} and {q.event_shape}"
        )
    kl = kl_divergence(p.base_dist, q.base_dist)
    # what is event here and batch there
    extra = len(p.event_shape) - len(p.base_dist.event_shape)
    return _sum_rightmost(kl, extra) if extra > 0 else kl


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p, q):
    kl = ((q.high - q.low) / (p.high - p.low)).log()
    return kl.masked_fill((q.low > p.low) | (q.high < p.high), flambeau.inf)


@register_kl(Independent, Independent)
def _kl_independent_independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            "KL-divergence of Independent distributions needs equal reinterpreted_batch_ndims, got"
            f" {p.reinterpreted_batch_ndims} and {q.reinterpreted_batch_ndims}"
        )
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)
