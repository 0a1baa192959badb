"""The gamma distribution."""

from __future__ import annotations

import flambeau

from . import constraints
from ._common import shape_of
from .exp_family import ExponentialFamily
from .utils import broadcast_all

__all__ = ["Gamma"]


def _standard_gamma(concentration):
    return flambeau._standard_gamma(concentration)


class Gamma(ExponentialFamily):
    """The density ``x^(concentration - 1) * exp(-rate * x)``, normalized.

    Example:
        >>> Gamma(2.0, 4.0).mean
        tensor(0.5000)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration, rate, validate_args=None):
        self.concentration, self.rate = broadcast_all(concentration, rate)
        batch_shape = shape_of(self.concentration, concentration, rate)
        super().__init__(batch_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expand_parameters(Gamma, batch_shape, _instance, "concentration", "rate")

    @property
    def mean(self):
        return self.concentration / self.rate

    @property
    def mode(self):
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self):
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        value = _standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        # so that the logarithm is finite; the gradient knows nothing of it
        value.detach().clamp_(min=flambeau.finfo(value.dtype).tiny)
        return value

    def log_prob(self, value):
        value = flambeau.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        return (
            flambeau.xlogy(self.concentration, self.rate)
            + flambeau.xlogy(self.concentration - 1, value)
            - self.rate * value
            - flambeau.lgamma(self.concentration)
        )

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return flambeau.special.gammainc(self.concentration, self.rate * value)

    def entropy(self):
        return (
            self.concentration
            - flambeau.log(self.rate)
            + flambeau.lgamma(self.concentration)
            + (1.0 - self.concentration) * flambeau.digamma(self.concentration)
        )

    @property
    def _natural_params(self):
        return (self.concentration - 1, -self.rate)

    def _log_normalizer(self, x, y):
        return flambeau.lgamma(x + 1) + (x + 1) * flambeau.log(-y.reciprocal())
