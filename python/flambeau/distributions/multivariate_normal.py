"""The multivariate normal distribution."""

from __future__ import annotations

import math

import flambeau
from flambeau import Size

from . import constraints
from .distribution import Distribution
from .utils import _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]


def _batch_mv(matrix, vector):
    """Matrices times vectors, both with batch dimensions."""
    if matrix.dim() == 2:  # one product instead of one for each vector
        return flambeau.matmul(vector, matrix.mT)
    return flambeau.matmul(matrix, vector.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(tril, x):
    """|L⁻¹ x|² for lower triangular L and vectors x, whose batch dimensions broadcast."""
    if tril.dim() == 2:
        # one matrix: all vectors are columns of one right-hand side
        columns = x.reshape(-1, x.size(-1)).mT
        solved = flambeau.linalg.solve_triangular(tril, columns, upper=False)
        return solved.pow(2).sum(0).reshape(x.shape[:-1])
    # one right-hand side for each matrix, with as many columns as it is broadcast to
    batch = flambeau.broadcast_shapes(x.shape[:-1], tril.shape[:-2])
    extra = len(batch) - (tril.dim() - 2)
    if all(have == want for have, want in zip(tril.shape[:-2], batch[extra:])):
        x = x.expand(batch + x.shape[-1:])
        columns = x.reshape((-1,) + batch[extra:] + x.shape[-1:]).movedim(0, -1)
        solved = flambeau.linalg.solve_triangular(tril, columns, upper=False)
        return solved.pow(2).sum(-2).movedim(-1, 0).reshape(batch)
    solved = flambeau.linalg.solve_triangular(tril, x.unsqueeze(-1), upper=False)
    return solved.pow(2).sum((-2, -1))


def _precision_to_scale_tril(P):
    """The Cholesky factor of P⁻¹.

    With rows and columns in reverse order the factor of P becomes an upper triangular U with
    P = U·Uᵀ, so that P⁻¹ = U⁻ᵀ·U⁻¹ with lower triangular U⁻ᵀ.
    """
    reversed_factor = flambeau.linalg.cholesky(flambeau.flip(P, (-2, -1)))
    factor = flambeau.flip(reversed_factor, (-2, -1)).mT
    identity = flambeau.eye(P.shape[-1], dtype=P.dtype, device=P.device)
    return flambeau.linalg.solve_triangular(factor, identity, upper=False)


class MultivariateNormal(Distribution):
    """Normal vectors with any covariance.

    Args:
        loc: the mean.
        covariance_matrix, precision_matrix, scale_tril: one of these; the last is the lower
            Cholesky factor of the covariance, and quickest.

    Example:
        >>> MultivariateNormal(flambeau.zeros(2), flambeau.eye(2)).log_prob(flambeau.zeros(2))
        tensor(-1.8379)
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc,
        covariance_matrix=None,
        precision_matrix=None,
        scale_tril=None,
        validate_args=None,
    ):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        given = {name: value for name, value in given.items() if value is not None}
        if len(given) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be"
                " specified."
            )
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            kind = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(
                f"{kind} must be at least two-dimensional, with optional leading batch dimensions"
            )
        batch_shape = flambeau.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand(batch_shape + matrix.shape[-2:]))
        self.loc = loc.expand(batch_shape + (-1,))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        # the factor without the batch dimensions of loc
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = flambeau.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(MultivariateNormal, _instance)
        batch_shape = Size(batch_shape)
        new.loc = self.loc.expand(batch_shape + self.event_shape)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        for name in ("covariance_matrix", "scale_tril", "precision_matrix"):
            if name in self.__dict__:
                matrix = getattr(self, name)
                setattr(new, name, matrix.expand(batch_shape + matrix.shape[-2:]))
        return self._finish_expand(new, batch_shape)

    def _whole(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self):
        return self._whole(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        factor = self._unbroadcasted_scale_tril
        return self._whole(flambeau.matmul(factor, factor.mT))

    @lazy_property
    def precision_matrix(self):
        return self._whole(flambeau.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        variance = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return variance.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        eps = _standard_normal(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, eps)

    def _half_log_det(self):
        diagonal = self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1)
        return diagonal.log().sum(-1)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + distance) - self._half_log_det()

    def entropy(self):
        constant = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        entropy = constant + self._half_log_det()
        return entropy if len(self._batch_shape) == 0 else entropy.expand(self._batch_shape)
