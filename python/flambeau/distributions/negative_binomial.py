"""The negative binomial distribution."""

from __future__ import annotations

import flambeau
from flambeau.nn.functional import logsigmoid

from . import constraints
from ._common import BinaryParameter, check_one_given
from .distribution import Distribution
from .gamma import Gamma
from .utils import broadcast_all, lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(BinaryParameter, Distribution):
    """The number of successes before ``total_count`` failures.

    Args:
        total_count: the number of failures, not necessarily whole.
        probs: the probability of success, below 1.
        logits: its log odds, instead.

    Example:
        >>> NegativeBinomial(3.0, flambeau.tensor(0.5)).mean
        tensor(3.)
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        check_one_given(probs, logits)
        name, given = ("probs", probs) if logits is None else ("logits", logits)
        self.total_count, self._param = broadcast_all(total_count, given)
        self.total_count = self.total_count.type_as(self._param)
        setattr(self, name, self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expand_binary(NegativeBinomial, batch_shape, _instance, "total_count")

    @property
    def mean(self):
        return self.total_count * flambeau.exp(self.logits)

    @property
    def mode(self):
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self):
        return self.mean / flambeau.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self):
        # Poisson with a gamma rate; the parameters were checked
        rate = flambeau.exp(-self.logits)
        return Gamma(concentration=self.total_count, rate=rate, validate_args=False)

    def sample(self, sample_shape=()):
        with flambeau.no_grad():
            return flambeau.poisson(self._gamma.sample(sample_shape=sample_shape))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        powers = self.total_count * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        ways = (
            flambeau.lgamma(self.total_count + value)
            - flambeau.lgamma(1.0 + value)
            - flambeau.lgamma(self.total_count)
        )
        # no failure, no success: certain
        return powers + ways.masked_fill(self.total_count + value == 0.0, 0.0)
