"""The base of all distributions: shapes, checks of parameters and values, derived figures."""

from __future__ import annotations

import warnings

import flambeau
from flambeau import Size

from . import constraints
from .utils import lazy_property

__all__ = ["Distribution"]


class Distribution:
    """Base class of probability distributions.

    A sample has the shape ``sample_shape + batch_shape + event_shape``: draws are identical and
    independent along the first, independent with parameters of their own along the second, and one
    value of the distribution is a tensor of the last.

    Args:
        batch_shape: the shape of the parameters.
        event_shape: the shape of one value.
        validate_args: whether parameters and values are checked; None takes the default.

    Example:
        >>> class Half(Distribution):
        ...     arg_constraints, support = {}, constraints.boolean
        ...     def log_prob(self, value):
        ...         self._validate_sample(value)
        ...         return flambeau.full_like(value, 0.5).log()
        >>> Half().log_prob(flambeau.ones(2))
        tensor([-0.6931, -0.6931])
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value):
        """Whether parameters and values are checked where nothing else is said.

        Example:
            >>> Distribution.set_default_validate_args(True)
        """
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape=(), event_shape=(), validate_args=None):
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self):
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            arg_constraints = {}
            warnings.warn(
                f"{self.__class__} does not define `arg_constraints`. Please set"
                " `arg_constraints = {}` or initialize the distribution with"
                " `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
        for param, constraint in arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue
            if param not in self.__dict__ and isinstance(getattr(type(self), param), lazy_property):
                continue  # computed from parameters that are checked
            value = getattr(self, param)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {param} ({type(value).__name__} of shape"
                    f" {tuple(value.shape)}) of distribution {self!r} to satisfy the constraint"
                    f" {constraint!r}, but found invalid values:\n{value}"
                )

    def expand(self, batch_shape, _instance=None):
        """The distribution with parameters expanded to ``batch_shape``.

        Args:
            _instance: an object of a subclass to be filled, for subclasses with constructors of
                their own.
        """
        raise NotImplementedError

    @property
    def batch_shape(self):
        """The shape over which parameters are batched."""
        return self._batch_shape

    @property
    def event_shape(self):
        """The shape of one value."""
        return self._event_shape

    @property
    def arg_constraints(self):
        """For each parameter's name the constraint that it satisfies."""
        raise NotImplementedError

    @property
    def support(self):
        """The constraint that the distribution's values satisfy."""
        raise NotImplementedError

    @property
    def mean(self):
        """The expected value."""
        raise NotImplementedError

    @property
    def mode(self):
        """The likeliest value."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self):
        """The expected square of the deviation from the mean."""
        raise NotImplementedError

    @property
    def stddev(self):
        """The root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape=()):
        """Draws without history, of shape ``sample_shape + batch_shape + event_shape``."""
        with flambeau.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=()):
        """Draws that can be differentiated by the parameters."""
        raise NotImplementedError

    def sample_n(self, n):
        """``n`` draws (deprecated)."""
        warnings.warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.",
            FutureWarning,
            stacklevel=2,
        )
        return self.sample(Size((n,)))

    def log_prob(self, value):
        """The logarithm of the density or mass at ``value``."""
        raise NotImplementedError

    def cdf(self, value):
        """The probability of at most ``value``."""
        raise NotImplementedError

    def icdf(self, value):
        """The quantile of probability ``value``."""
        raise NotImplementedError

    def enumerate_support(self, expand=True):
        """All values of a discrete distribution, along a new first dimension.

        Args:
            expand: whether the values are repeated for the batch, or its dimensions have size 1.
        """
        raise NotImplementedError

    def entropy(self):
        """The expected negative log probability."""
        raise NotImplementedError

    def perplexity(self):
        """The exponential of the entropy."""
        return flambeau.exp(self.entropy())

    def _extended_shape(self, sample_shape=()):
        """The shape of samples."""
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def _validate_sample(self, value):
        """Checks what `log_prob`, `cdf` and `icdf` get.

        Raises:
            ValueError: no tensor, not broadcastable to the distribution's shape, or outside the
                support.
        """
        if not isinstance(value, flambeau.Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        event_start = value.dim() - len(self._event_shape)
        if value.shape[max(event_start, 0) :] != self._event_shape:
            raise ValueError(
                "The right-most size of value must match event_shape:"
                f" {value.size()} vs {self._event_shape}."
            )
        expected = self._batch_shape + self._event_shape
        for i, j in zip(reversed(value.size()), reversed(expected)):
            if i != 1 and j != 1 and i != j:
                raise ValueError(
                    "Value is not broadcastable with batch_shape+event_shape:"
                    f" {value.size()} vs {expected}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `support` to enable sample validation. Please"
                " initialize the distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        if not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to"
                f" be within the support ({support!r}) of the distribution {self!r}, but found"
                f" invalid values:\n{value}"
            )

    def _get_checked_instance(self, cls, _instance=None):
        if _instance is None and type(self).__init__ is not cls.__init__:
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom"
                " __init__ method must also define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def _finish_expand(self, new, batch_shape, event_shape=None):
        """Sets up ``new``, whose parameters are expanded; they were checked before."""
        event_shape = self._event_shape if event_shape is None else event_shape
        Distribution.__init__(new, batch_shape, event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _expand_parameters(self, cls, batch_shape, _instance, *names, event_dims=0):
        """`expand` of a class ``cls`` whose parameters, as far as they exist yet, are ``names``.

        Args:
            event_dims: how many trailing dimensions of the parameters belong to the event.
        """
        new = self._get_checked_instance(cls, _instance)
        batch_shape = Size(batch_shape)
        for name in names:
            if name in self.__dict__:
                value = self.__dict__[name]
                event = value.shape[value.dim() - event_dims :]
                setattr(new, name, value.expand(batch_shape + event))
        return self._finish_expand(new, batch_shape)

    def __repr__(self):
        names = [k for k in self.arg_constraints if k in self.__dict__]
        values = ((k, self.__dict__[k]) for k in names)
        parts = (f"{k}: {v if v.numel() == 1 else v.size()}" for k, v in values)
        return f"{self.__class__.__name__}({', '.join(parts)})"
