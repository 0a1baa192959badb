"""The multinomial distribution."""

from __future__ import annotations

import flambeau
from flambeau import Size, inf

from . import constraints
from .binomial import Binomial
from .categorical import Categorical
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """How often each of K categories comes up in ``total_count`` draws.

    Args:
        total_count: the number of draws.
        probs: the probabilities of the categories; they are normalized.
        logits: their log probabilities up to a common summand, instead.

    Example:
        >>> Multinomial(4, flambeau.tensor([1.0, 3.0])).mean
        tensor([1., 3.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    total_count: int

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(
            self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args
        )

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Multinomial, _instance)
        new.total_count = self.total_count
        new._categorical = self._categorical.expand(batch_shape)
        new._binomial = Binomial(self.total_count, probs=new._categorical.probs)
        return self._finish_expand(new, batch_shape)

    def _new(self, *args, **kwargs):
        return self._categorical._new(*args, **kwargs)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        return constraints.multinomial(self.total_count)

    @property
    def logits(self):
        return self._categorical.logits

    @property
    def probs(self):
        return self._categorical.probs

    @property
    def param_shape(self):
        return self._categorical.param_shape

    @property
    def mean(self):
        return self.probs * self.total_count

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        drawn = self._categorical.sample(Size((self.total_count,)) + Size(sample_shape))
        drawn = drawn.movedim(0, -1)
        counts = self.probs.new_zeros(self._extended_shape(sample_shape))
        counts.scatter_add_(-1, drawn, flambeau.ones_like(drawn, dtype=counts.dtype))
        return counts

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        ways = flambeau.lgamma(value.sum(-1) + 1) - flambeau.lgamma(value + 1).sum(-1)
        # 0·log 0 is 0
        logits = logits.masked_fill((value == 0) & (logits == -inf), 0)
        return ways + (logits * value).sum(-1)

    def entropy(self):
        # n·H - log n! + Σ E[log x_i!] over the binomial counts x_i
        n = flambeau.tensor(self.total_count)
        counts = self._binomial.enumerate_support(expand=False)[1:]
        expected = flambeau.exp(self._binomial.log_prob(counts)) * flambeau.lgamma(counts + 1)
        return n * self._categorical.entropy() - flambeau.lgamma(n + 1) + expected.sum(0).sum(-1)
