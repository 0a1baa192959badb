"""Student's t distribution."""

from __future__ import annotations

import math

import flambeau
from flambeau import inf, nan

from . import constraints
from ._common import shape_of
from .chi2 import Chi2
from .distribution import Distribution
from .utils import _standard_normal, broadcast_all

__all__ = ["StudentT"]


class StudentT(Distribution):
    """A normal number over the root of a chi-squared one per degree of freedom.

    Example:
        >>> StudentT(4.0).variance
        tensor(2.)
    """

    arg_constraints = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(shape_of(self.df, df, loc, scale), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._expand_parameters(StudentT, batch_shape, _instance, "df", "loc", "scale")
        new._chi2 = self._chi2.expand(batch_shape)
        return new

    @property
    def mean(self):
        return self.loc.masked_fill(self.df <= 1, nan)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        above = self.df.masked_fill(self.df <= 2, inf)
        variance = self.scale.pow(2) * above / (above - 2)
        variance = variance.masked_fill(self.df <= 2, inf)
        return variance.masked_fill(self.df <= 1, nan)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        x = _standard_normal(shape, dtype=self.df.dtype, device=self.df.device)
        z = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (x * flambeau.rsqrt(z / self.df))

    def _log_beta(self):
        """log B(df / 2, 1 / 2)"""
        half = 0.5 * self.df
        return flambeau.lgamma(half) + 0.5 * math.log(math.pi) - flambeau.lgamma(half + 0.5)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        log_norm = self.scale.log() + 0.5 * self.df.log() + self._log_beta()
        return -0.5 * (self.df + 1.0) * flambeau.log1p(y**2.0 / self.df) - log_norm

    def entropy(self):
        half = 0.5 * self.df
        return (
            self.scale.log()
            + (half + 0.5) * (flambeau.digamma(half + 0.5) - flambeau.digamma(half))
            + 0.5 * self.df.log()
            + self._log_beta()
        )
