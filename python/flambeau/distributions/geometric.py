"""The geometric distribution."""

from __future__ import annotations

import flambeau
from flambeau.nn.functional import binary_cross_entropy_with_logits

from . import constraints
from ._common import BinaryParameter
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["Geometric"]


class Geometric(BinaryParameter, Distribution):
    """The number of failures before the first success.

    Args:
        probs: the probability of success, not 0.
        logits: its log odds, instead.

    Example:
        >>> Geometric(0.25).mean
        tensor(3.)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs=None, logits=None, validate_args=None):
        batch_shape = self._set_parameter(probs, logits)
        super().__init__(batch_shape, validate_args=validate_args)
        if self._validate_args and probs is not None:
            value = self.probs
            valid = value > 0
            if not valid.all():
                raise ValueError(
                    f"Expected parameter probs ({type(value).__name__} of shape"
                    f" {tuple(value.shape)}) of distribution {self!r} to be positive but found"
                    f" invalid values:\n{value[~valid]}"
                )

    def expand(self, batch_shape, _instance=None):
        return self._expand_binary(Geometric, batch_shape, _instance)

    @property
    def mean(self):
        return 1.0 / self.probs - 1.0

    @property
    def mode(self):
        return flambeau.zeros_like(self.probs)

    @property
    def variance(self):
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        with flambeau.no_grad():
            u = self.probs.new(shape).uniform_()
            u = u.clamp(min=flambeau.finfo(self.probs.dtype).tiny)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        # 0·log(1 - 1) is 0
        probs_of_failure = probs.masked_fill((probs == 1) & (value == 0), 0)
        return value * (-probs_of_failure).log1p() + self.probs.log()

    def entropy(self):
        loss = binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
        return loss / self.probs
