"""Mixtures of distributions of one family."""

from __future__ import annotations

import flambeau
from flambeau import Size

from . import constraints
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture whose components are the last batch dimension of one distribution.

    Args:
        mixture_distribution: a `Categorical` that chooses the component.
        component_distribution: the components.

    Example:
        >>> weights = flambeau.distributions.Categorical(flambeau.tensor([0.5, 0.5]))
        >>> parts = flambeau.distributions.Normal(flambeau.tensor([-1.0, 1.0]), 1.0)
        >>> MixtureSameFamily(weights, parts).variance
        tensor(2.)
    """

    arg_constraints: dict = {}
    has_rsample = False

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an  instance of"
                " torch.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution needs to be an instance of"
                " torch.distributions.Distribution"
            )
        own, batch = mixture_distribution.batch_shape, component_distribution.batch_shape
        for size1, size2 in zip(reversed(own), reversed(batch[:-1])):
            if size1 != 1 and size2 != 1 and size1 != size2:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({own}) is not compatible with"
                    f" `component_distribution.batch_shape`({batch[:-1]})"
                )
        count = mixture_distribution.logits.shape[-1]
        if batch[-1:] != (count,):
            found = batch[-1] if batch else "none"
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal"
                f" `component_distribution.batch_shape[-1]` ({found})"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = count
        event_shape = component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(batch[:-1], event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        batch_shape = Size(batch_shape)
        new._component_distribution = self._component_distribution.expand(
            batch_shape + (self._num_component,)
        )
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component = self._num_component
        new._event_ndims = self._event_ndims
        return self._finish_expand(new, batch_shape)

    @constraints.dependent_property
    def support(self):
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self):
        """What chooses the component."""
        return self._mixture_distribution

    @property
    def component_distribution(self):
        """The components."""
        return self._component_distribution

    def _mean_of(self, values):
        """The expectation over the components, whose dimension comes before those of the event."""
        weights = self._pad_mixture_dimensions(self._mixture_distribution.probs)
        return flambeau.sum(weights * values, dim=-1 - self._event_ndims)

    @property
    def mean(self):
        return self._mean_of(self._component_distribution.mean)

    @property
    def variance(self):
        # the law of total variance
        within = self._mean_of(self._component_distribution.variance)
        offset = self._component_distribution.mean - self._pad(self.mean)
        return within + self._mean_of(offset.pow(2.0))

    def cdf(self, x):
        cdf = self._component_distribution.cdf(self._pad(x))
        return flambeau.sum(cdf * self._mixture_distribution.probs, dim=-1)

    def log_prob(self, x):
        if self._validate_args:
            self._validate_sample(x)
        log_prob = self._component_distribution.log_prob(self._pad(x))
        log_weights = flambeau.log_softmax(self._mixture_distribution.logits, dim=-1)
        return flambeau.logsumexp(log_prob + log_weights, dim=-1)

    def sample(self, sample_shape=()):
        with flambeau.no_grad():
            sample_shape = Size(sample_shape)
            chosen = self._mixture_distribution.sample(sample_shape)
            values = self._component_distribution.sample(sample_shape)
            dim = len(sample_shape) + len(self._batch_shape)
            chosen = chosen.reshape(chosen.shape + (1,) * (self._event_ndims + 1))
            chosen = chosen.expand(values.shape[:dim] + (1,) + self._event_shape)
            return flambeau.gather(values, dim, chosen).squeeze(dim)

    def _pad(self, x):
        return x.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, x):
        """Weights, last dimension the components, lined up with components' values."""
        missing = len(self._batch_shape) - len(self._mixture_distribution.batch_shape)
        batch, count = x.shape[:-1], x.shape[-1:]
        return x.reshape(batch + (1,) * missing + count + (1,) * self._event_ndims)

    def __repr__(self):
        return (
            f"MixtureSameFamily(\n  {self._mixture_distribution},\n"
            f"  {self._component_distribution})"
        )
