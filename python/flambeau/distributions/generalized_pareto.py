"""The generalized Pareto distribution."""

from __future__ import annotations

import flambeau

from . import constraints
from ._common import shape_of
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """The tail ``(1 + concentration * z) ** (-1 / concentration)`` for ``z = (x - loc) / scale``.

    At concentration 0 it is exponential; at negative ones the support ends. (Hosking & Wallis,
    "Parameter and quantile estimation for the generalized Pareto distribution", 1987.)

    Example:
        >>> GeneralizedPareto(0.0, 1.0, 0.5).mean
        tensor(2.)
    """

    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True

    def __init__(self, loc, scale, concentration, validate_args=None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        batch_shape = shape_of(self.loc, loc, scale, concentration)
        super().__init__(batch_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        names = ("loc", "scale", "concentration")
        return self._expand_parameters(GeneralizedPareto, batch_shape, _instance, *names)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        end = self.loc - self.scale / self.concentration
        upper = flambeau.where(self.concentration < 0, end, flambeau.inf)
        return constraints.interval(self.loc, upper)

    def _z(self, x):
        return (x - self.loc) / self.scale

    def _is_exponential(self):
        return flambeau.isclose(self.concentration, flambeau.zeros_like(self.concentration))

    def _safe_concentration(self):
        """The concentration where it divides, 1 where the exponential form is taken."""
        return self.concentration.masked_fill(self._is_exponential(), 1.0)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return self.icdf(flambeau.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        z, k = self._z(value), self._safe_concentration()
        log_density = -(1 / k + 1) * flambeau.log1p(k * z)
        return flambeau.where(self._is_exponential(), -z, log_density) - self.scale.log()

    def log_survival_function(self, value):
        """The logarithm of the probability of more than ``value``."""
        if self._validate_args:
            self._validate_sample(value)
        z, k = self._z(value), self._safe_concentration()
        return flambeau.where(self._is_exponential(), -z, -flambeau.log1p(k * z) / k)

    def log_cdf(self, value):
        """The logarithm of `cdf`."""
        return flambeau.log1p(-flambeau.exp(self.log_survival_function(value)))

    def cdf(self, value):
        return flambeau.exp(self.log_cdf(value))

    def icdf(self, value):
        k = self._safe_concentration()
        log_tail = flambeau.log1p(-value)
        z = flambeau.where(self._is_exponential(), -log_tail, flambeau.expm1(-k * log_tail) / k)
        return self.loc + self.scale * z

    @property
    def mean(self):
        mean = self.loc + self.scale / (1 - self.concentration)
        return flambeau.where(self.concentration < 1, mean, flambeau.inf)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        k = self.concentration
        variance = self.scale**2 / ((1 - k) ** 2 * (1 - 2 * k))
        return flambeau.where(k < 0.5, variance, flambeau.inf)

    def entropy(self):
        return flambeau.log(self.scale) + self.concentration + 1
