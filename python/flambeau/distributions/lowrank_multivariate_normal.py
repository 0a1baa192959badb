"""Multivariate normal distributions whose covariance is a diagonal plus few columns."""

from __future__ import annotations

import math

import flambeau
from flambeau import Size

from . import constraints
from .distribution import Distribution
from .multivariate_normal import _batch_mahalanobis, _batch_mv
from .utils import _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal"]


def _batch_capacitance_tril(W, D):
    """The Cholesky factor of I + Wᵀ·D⁻¹·W."""
    inner = flambeau.matmul(W.mT / D.unsqueeze(-2), W)
    identity = flambeau.eye(W.size(-1), dtype=W.dtype, device=W.device)
    return flambeau.linalg.cholesky(inner + identity)


def _batch_lowrank_logdet(W, D, capacitance_tril):
    """log |W·Wᵀ + D| = log |I + Wᵀ·D⁻¹·W| + log |D|, the matrix determinant lemma."""
    diagonal = capacitance_tril.diagonal(dim1=-2, dim2=-1)
    return 2 * diagonal.log().sum(-1) + D.log().sum(-1)


def _batch_lowrank_mahalanobis(W, D, x, capacitance_tril):
    """xᵀ·(W·Wᵀ + D)⁻¹·x by Woodbury's identity."""
    scaled = W.mT / D.unsqueeze(-2)
    whole = (x.pow(2) / D).sum(-1)
    return whole - _batch_mahalanobis(capacitance_tril, _batch_mv(scaled, x))


class LowRankMultivariateNormal(Distribution):
    """Normal vectors with the covariance ``cov_factor @ cov_factor.T + diag(cov_diag)``.

    What is costly grows with the columns of the factor instead of the size of the vectors.

    Args:
        loc: the mean.
        cov_factor: the factor, of shape ``(..., size, rank)``.
        cov_diag: the diagonal.

    Example:
        >>> d = LowRankMultivariateNormal(
        ...     flambeau.zeros(2), flambeau.tensor([[1.0], [0.0]]), flambeau.ones(2))
        >>> d.covariance_matrix
        tensor([[2., 0.],
                [0., 1.]])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, with optional leading batch"
                " dimensions"
            )
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(
                f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m"
            )
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            batch_shape = flambeau.broadcast_shapes(
                loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1]
            )
        except RuntimeError as e:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape},"
                f" cov_diag {cov_diag.shape}"
            ) from e
        self.loc = loc.expand(batch_shape + event_shape)
        self.cov_factor = cov_factor.expand(batch_shape + cov_factor.shape[-2:])
        self.cov_diag = cov_diag.expand(batch_shape + event_shape)
        # without the batch dimensions of loc
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)
        super().__init__(batch_shape, event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(LowRankMultivariateNormal, _instance)
        batch_shape = Size(batch_shape)
        vectors = batch_shape + self.event_shape
        new.loc = self.loc.expand(vectors)
        new.cov_diag = self.cov_diag.expand(vectors)
        new.cov_factor = self.cov_factor.expand(vectors + self.cov_factor.shape[-1:])
        for name in ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril"):
            setattr(new, name, getattr(self, name))
        return self._finish_expand(new, batch_shape)

    def _whole(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @lazy_property
    def variance(self):
        variance = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return variance.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self):
        # W·Wᵀ + D = D^½·(D^-½·W·Wᵀ·D^-½ + I)·D^½; the bracket has eigenvalues of at least 1
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        identity = flambeau.eye(root.size(-2), dtype=root.dtype, device=root.device)
        return self._whole(root * flambeau.linalg.cholesky(scaled @ scaled.mT + identity))

    @lazy_property
    def covariance_matrix(self):
        factor = self._unbroadcasted_cov_factor
        return self._whole(factor @ factor.mT + flambeau.diag_embed(self._unbroadcasted_cov_diag))

    @lazy_property
    def precision_matrix(self):
        # Woodbury's identity: D⁻¹ - Aᵀ·A with A = C⁻¹·Wᵀ·D⁻¹ for the factor C of the capacitance
        scaled = self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)
        a = flambeau.linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        inverse = flambeau.diag_embed(self._unbroadcasted_cov_diag.reciprocal())
        return self._whole(inverse - a.mT @ a)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        options = {"dtype": self.loc.dtype, "device": self.loc.device}
        rank_shape = shape[:-1] + self.cov_factor.shape[-1:]
        eps_factor = _standard_normal(rank_shape, **options)
        eps_diag = _standard_normal(shape, **options)
        return (
            self.loc
            + _batch_mv(self._unbroadcasted_cov_factor, eps_factor)
            + self._unbroadcasted_cov_diag.sqrt() * eps_diag
        )

    def _log_det(self):
        return _batch_lowrank_logdet(
            self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, self._capacitance_tril
        )

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        distance = _batch_lowrank_mahalanobis(
            self._unbroadcasted_cov_factor,
            self._unbroadcasted_cov_diag,
            value - self.loc,
            self._capacitance_tril,
        )
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + self._log_det() + distance)

    def entropy(self):
        constant = self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        entropy = 0.5 * (constant + self._log_det())
        return entropy if len(self._batch_shape) == 0 else entropy.expand(self._batch_shape)
