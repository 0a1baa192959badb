"""The von Mises distribution."""

from __future__ import annotations

import math

import flambeau

from . import constraints
from ._common import shape_of
from .distribution import Distribution
from .utils import broadcast_all, lazy_property

__all__ = ["VonMises"]


def _log_i0(x):
    """log I0(x), of large x too."""
    return flambeau.special.i0e(x).log() + x.abs()


def _rejection_sample(loc, concentration, proposal_r, x):
    """Best & Fisher, "Efficient simulation of the von Mises distribution" (1979).

    A wrapped Cauchy number is proposed; rounds go on until all elements of ``x`` have accepted one.
    """
    done = flambeau.zeros(x.shape, dtype=flambeau.bool, device=loc.device)
    while not done.all():
        u = flambeau.rand((3,) + x.shape, dtype=loc.dtype, device=loc.device)
        u1, u2, u3 = u.unbind()
        z = flambeau.cos(math.pi * u1)
        f = (1 + proposal_r * z) / (proposal_r + z)
        c = concentration * (proposal_r - f)
        accept = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
        x = flambeau.where(accept, (u3 - 0.5).sign() * f.acos(), x)
        done = done | accept
    return (x + math.pi + loc) % (2 * math.pi) - math.pi


class VonMises(Distribution):
    """Angles with density ``exp(concentration * cos(x - loc))``, normalized.

    Example:
        >>> VonMises(0.0, 1.0).variance
        tensor(0.5536)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc, concentration, validate_args=None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(shape_of(self.loc, loc, concentration), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expand_parameters(VonMises, batch_shape, _instance, "loc", "concentration")

    @property
    def mean(self):
        """The circular mean."""
        return self.loc

    @property
    def mode(self):
        return self.loc

    @lazy_property
    def variance(self):
        """The circular variance."""
        i1, i0 = flambeau.special.i1e(self.concentration), flambeau.special.i0e(self.concentration)
        return 1 - i1 / i0

    @lazy_property
    def _loc(self):
        return self.loc.double()

    @lazy_property
    def _concentration(self):
        return self.concentration.double()

    @lazy_property
    def _proposal_r(self):
        k = self._concentration
        tau = 1 + (1 + 4 * k**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        r = (1 + rho**2) / (2 * rho)
        # the second order series where the closed form has no digits left
        return flambeau.where(k < 1e-5, 1 / k + k, r)

    def sample(self, sample_shape=()):
        # in float64: float32 may never accept at large concentrations
        with flambeau.no_grad():
            shape = self._extended_shape(sample_shape)
            x = flambeau.empty(shape, dtype=self._loc.dtype, device=self.loc.device)
            x = _rejection_sample(self._loc, self._concentration, self._proposal_r, x)
            return x.to(self.loc.dtype)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        log_density = self.concentration * flambeau.cos(value - self.loc)
        return log_density - math.log(2 * math.pi) - _log_i0(self.concentration)
