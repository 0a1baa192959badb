"""The Dirichlet distribution."""

from __future__ import annotations

import flambeau
from flambeau.autograd import Function
from flambeau.autograd.function import once_differentiable

from . import constraints
from .exp_family import ExponentialFamily

__all__ = ["Dirichlet"]


def _Dirichlet_backward(x, concentration, grad_output):
    """The gradient by the concentrations of a sample ``x``.

    A concentration moves its own component along the quantiles of the beta distribution that is its
    marginal, and scales the others, whose proportions stay (Jankowiak & Obermeyer, "Pathwise
    derivatives beyond the reparameterization trick", 2018).
    """
    total = concentration.sum(-1, True).expand_as(concentration)
    slope = flambeau._dirichlet_grad(x, concentration, total)
    return slope * (grad_output - (x * grad_output).sum(-1, True))


class _Dirichlet(Function):
    @staticmethod
    def forward(ctx, concentration):
        x = flambeau._sample_dirichlet(concentration)
        ctx.save_for_backward(x, concentration)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        x, concentration = ctx.saved_tensors
        return _Dirichlet_backward(x, concentration, grad_output)


class Dirichlet(ExponentialFamily):
    """Probabilities with the density ``prod(x ** (concentration - 1))``, normalized.

    Example:
        >>> Dirichlet(flambeau.tensor([1.0, 3.0])).mean
        tensor([0.2500, 0.7500])
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration, validate_args=None):
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expand_parameters(
            Dirichlet, batch_shape, _instance, "concentration", event_dims=1
        )

    def rsample(self, sample_shape=()):
        return _Dirichlet.apply(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return (
            flambeau.xlogy(self.concentration - 1.0, value).sum(-1)
            + flambeau.lgamma(self.concentration.sum(-1))
            - flambeau.lgamma(self.concentration).sum(-1)
        )

    @property
    def mean(self):
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self):
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        # all below 1: the density is unbounded at the corners, most so at the largest one's
        corner = flambeau.zeros_like(mode).scatter(-1, mode.argmax(-1, keepdim=True), 1.0)
        return flambeau.where((self.concentration < 1).all(-1, keepdim=True), corner, mode)

    @property
    def variance(self):
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self):
        size = self.concentration.size(-1)
        total = self.concentration.sum(-1)
        return (
            flambeau.lgamma(self.concentration).sum(-1)
            - flambeau.lgamma(total)
            - (size - total) * flambeau.digamma(total)
            - ((self.concentration - 1.0) * flambeau.digamma(self.concentration)).sum(-1)
        )

    @property
    def _natural_params(self):
        return (self.concentration,)

    def _log_normalizer(self, x):
        return x.lgamma().sum(-1) - flambeau.lgamma(x.sum(-1))
