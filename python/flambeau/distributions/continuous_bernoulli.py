"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math

import flambeau
from flambeau.nn.functional import binary_cross_entropy_with_logits

from . import constraints
from ._common import BinaryParameter, shape_of
from .exp_family import ExponentialFamily
from .utils import (
    broadcast_all,
    clamp_probs,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(BinaryParameter, ExponentialFamily):
    """The density ``probs^x * (1 - probs)^(1 - x)``, normalized, on [0, 1].

    Loaiza-Ganem & Cunningham, "The continuous Bernoulli: fixing a pervasive error in variational
    autoencoders" (2019).

    Args:
        probs: the parameter λ, which is not the mean.
        logits: its log odds, instead.
        lims: between these λ the closed forms lose their digits, and series around 1/2 are taken.

    Example:
        >>> ContinuousBernoulli(0.75).mean
        tensor(0.5898)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    _mean_carrier_measure = 0
    has_rsample = True

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args=None):
        if probs is not None and logits is None:
            (checked,) = broadcast_all(probs)
            # the clamped value, which is kept, would always pass
            if validate_args is not None and not self.arg_constraints["probs"].check(checked).all():
                raise ValueError("The parameter probs has invalid values")
            checked = clamp_probs(checked)
            self._set_parameter(checked, None)
            batch_shape = shape_of(checked, probs)
        else:
            batch_shape = self._set_parameter(probs, logits)
        self._lims = lims
        super().__init__(batch_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._expand_binary(ContinuousBernoulli, batch_shape, _instance)
        new._lims = self._lims
        return new

    @lazy_property
    def logits(self):
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self):
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _outside_unstable_region(self):
        low, high = self._lims
        return (self.probs <= low) | (self.probs > high)

    def _cut_probs(self):
        """λ where the closed forms hold, elsewhere a bound of that region."""
        low = self._lims[0] * flambeau.ones_like(self.probs)
        return flambeau.where(self._outside_unstable_region(), self.probs, low)

    def _cont_bern_log_norm(self):
        """log(2·artanh(1 - 2λ) / (1 - 2λ)), and its series around λ = 1/2."""
        cut = self._cut_probs()
        below = flambeau.where(cut <= 0.5, cut, flambeau.zeros_like(cut))
        above = flambeau.where(cut >= 0.5, cut, flambeau.ones_like(cut))
        log_norm = (flambeau.log1p(-cut) - flambeau.log(cut)).abs().log() - flambeau.where(
            cut <= 0.5, flambeau.log1p(-2.0 * below), flambeau.log(2.0 * above - 1.0)
        )
        x = (self.probs - 0.5).pow(2)
        series = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return flambeau.where(self._outside_unstable_region(), log_norm, series)

    @property
    def mean(self):
        cut = self._cut_probs()
        mean = cut / (2.0 * cut - 1.0) + 1.0 / (flambeau.log1p(-cut) - flambeau.log(cut))
        x = self.probs - 0.5
        series = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x
        return flambeau.where(self._outside_unstable_region(), mean, series)

    @property
    def stddev(self):
        return flambeau.sqrt(self.variance)

    @property
    def variance(self):
        cut = self._cut_probs()
        log_odds = flambeau.log1p(-cut) - flambeau.log(cut)
        variance = cut * (cut - 1.0) / (1.0 - 2.0 * cut).pow(2) + 1.0 / log_odds.pow(2)
        x = (self.probs - 0.5).pow(2)
        series = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return flambeau.where(self._outside_unstable_region(), variance, series)

    def sample(self, sample_shape=()):
        with flambeau.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return self.icdf(flambeau.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        unnormalized = -binary_cross_entropy_with_logits(logits, value, reduction="none")
        return unnormalized + self._cont_bern_log_norm()

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        cut = self._cut_probs()
        power = flambeau.pow(cut, value) * flambeau.pow(1.0 - cut, 1.0 - value)
        cdf = (power + cut - 1.0) / (2.0 * cut - 1.0)
        inside = flambeau.where(self._outside_unstable_region(), cdf, value)
        return flambeau.where(
            value <= 0.0,
            flambeau.zeros_like(value),
            flambeau.where(value >= 1.0, flambeau.ones_like(value), inside),
        )

    def icdf(self, value):
        cut = self._cut_probs()
        icdf = (flambeau.log1p(-cut + value * (2.0 * cut - 1.0)) - flambeau.log1p(-cut)) / (
            flambeau.log(cut) - flambeau.log1p(-cut)
        )
        return flambeau.where(self._outside_unstable_region(), icdf, value)

    def entropy(self):
        log_probs0 = flambeau.log1p(-self.probs)
        log_probs1 = flambeau.log(self.probs)
        return self.mean * (log_probs0 - log_probs1) - self._cont_bern_log_norm() - log_probs0

    @property
    def _natural_params(self):
        return (flambeau.logit(self.probs),)

    def _log_normalizer(self, x):
        """log((e^x - 1) / x), and its series around 0."""
        low, high = self._lims
        outside = (x <= low - 0.5) | (x > high - 0.5)
        cut = flambeau.where(outside, x, (low - 0.5) * flambeau.ones_like(x))
        log_norm = flambeau.log(flambeau.special.expm1(cut) / cut)
        series = 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0
        return flambeau.where(outside, log_norm, series)
