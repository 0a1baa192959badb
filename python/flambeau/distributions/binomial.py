"""The binomial distribution."""

from __future__ import annotations

import flambeau

from . import constraints
from ._common import BinaryParameter, check_one_given
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["Binomial"]


class Binomial(BinaryParameter, Distribution):
    """The number of successes among ``total_count`` trials.

    Args:
        total_count: the number of trials.
        probs: the probability of success.
        logits: its log odds, instead.

    Example:
        >>> Binomial(2, flambeau.tensor(0.5)).log_prob(flambeau.tensor(1.0)).exp()
        tensor(0.5000)
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        check_one_given(probs, logits)
        name, given = ("probs", probs) if logits is None else ("logits", logits)
        self.total_count, self._param = broadcast_all(total_count, given)
        self.total_count = self.total_count.type_as(self._param)
        setattr(self, name, self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expand_binary(Binomial, batch_shape, _instance, "total_count")

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self):
        return self.total_count * self.probs

    @property
    def mode(self):
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        with flambeau.no_grad():
            return flambeau.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        n = self.total_count
        ways = flambeau.lgamma(n + 1) - flambeau.lgamma(value + 1) - flambeau.lgamma(n - value + 1)
        # log(1 + e^logit), for large ones of either sign
        softplus = self.logits.clamp(min=0) + flambeau.log1p(flambeau.exp(-self.logits.abs()))
        return value * self.logits - n * softplus + ways

    def entropy(self):
        if self.total_count.min() != self.total_count.max():
            raise NotImplementedError(
                "Inhomogeneous total count not supported by `entropy`: the counts reach from"
                f" {self.total_count.min().item():g} to {self.total_count.max().item():g}."
            )
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(flambeau.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand=True):
        count = int(self.total_count.max())
        if self.total_count.min() != count:
            raise NotImplementedError(
                "Inhomogeneous total count not supported by `enumerate_support`."
            )
        values = flambeau.arange(1 + count, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + self._batch_shape) if expand else values
