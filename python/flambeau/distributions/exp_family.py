"""Exponential families, whose entropies follow from their log normalizers."""

from __future__ import annotations

import flambeau

from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Distributions with density ``exp(<t(x), θ> - F(θ) + k(x))``.

    Subclasses give the natural parameters θ (``_natural_params``), the log normalizer F
    (``_log_normalizer``) and the mean of the carrier measure k (``_mean_carrier_measure``); entropy
    and Kullback-Leibler divergence follow (Nielsen & Nock, "Entropies and cross-entropies of
    exponential families", 2010).

    Example:
        >>> flambeau.distributions.Gamma(2.0, 1.0).entropy()
        tensor(1.5772)
    """

    @property
    def _natural_params(self):
        raise NotImplementedError

    def _log_normalizer(self, *natural_params):
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self):
        raise NotImplementedError

    def entropy(self):
        """F(θ) - <θ, ∇F(θ)> - E[k]."""
        result = -self._mean_carrier_measure
        params = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*params)
        gradients = flambeau.autograd.grad(normalizer.sum(), params, create_graph=True)
        result += normalizer
        for param, gradient in zip(params, gradients):
            inner = (param * gradient).reshape(self._batch_shape + (-1,))
            result -= inner.sum(-1)
        return result
