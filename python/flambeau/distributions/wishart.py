"""The Wishart distribution."""

from __future__ import annotations

import math
import warnings
from numbers import Number

import flambeau
from flambeau import Size

from . import constraints
from .exp_family import ExponentialFamily
from .gamma import Gamma
from .multivariate_normal import _precision_to_scale_tril
from .utils import lazy_property

__all__ = ["Wishart"]

_log_2 = math.log(2)


def _mvdigamma(x, p):
    """The derivative of the multivariate log gamma function."""
    assert x.gt((p - 1) / 2).all(), "Wrong domain for multivariate digamma function."
    steps = flambeau.arange(1 - p, 1, dtype=x.dtype, device=x.device) / 2
    return flambeau.digamma(x.unsqueeze(-1) + steps).sum(-1)


def _clamp_above_eps(x):
    """Positive numbers kept so far above 0 that their reciprocals are exact enough."""
    return x.clamp(min=flambeau.finfo(x.dtype).eps)


class Wishart(ExponentialFamily):
    """Covariances of ``df`` normal vectors, not divided by ``df``.

    Sawyer, "Wishart distributions and inverse-Wishart sampling" (2007).

    Args:
        df: degrees of freedom, above the number of rows less 1.
        covariance_matrix, precision_matrix, scale_tril: one of these, of the vectors.

    Example:
        >>> Wishart(flambeau.tensor(3.0), covariance_matrix=flambeau.eye(2)).mean
        tensor([[3., 0.],
                [0., 3.]])
    """

    arg_constraints = {
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
        "df": constraints.greater_than(0),
    }
    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        df,
        covariance_matrix=None,
        precision_matrix=None,
        scale_tril=None,
        validate_args=None,
    ):
        given = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        given = {name: value for name, value in given.items() if value is not None}
        assert len(given) == 1, (
            "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
        )
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError(
                "scale_tril must be at least two-dimensional, with optional leading batch"
                " dimensions"
            )
        if isinstance(df, Number):
            self.df = flambeau.tensor(df, dtype=matrix.dtype, device=matrix.device)
            batch_shape = Size(matrix.shape[:-2])
        else:
            batch_shape = flambeau.broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch_shape)
        rows = matrix.shape[-1]
        if self.df.le(rows - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {rows - 1}.")
        setattr(self, name, matrix.expand(batch_shape + matrix.shape[-2:]))
        if self.df.lt(rows).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for"
                " ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        super().__init__(batch_shape, matrix.shape[-2:], validate_args=validate_args)
        self._batch_dims = [-(x + 1) for x in range(len(self._batch_shape))]
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = flambeau.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)
        # squares of the diagonal of Bartlett's factor: chi-squared with df, df - 1, ...
        degrees = self.df.unsqueeze(-1) - flambeau.arange(
            rows, dtype=matrix.dtype, device=matrix.device
        ).expand(batch_shape + (-1,))
        self._dist_chi2 = Gamma(degrees * 0.5, degrees.new_full((), 0.5))

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Wishart, _instance)
        batch_shape = Size(batch_shape)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril.expand(
            batch_shape + self.event_shape
        )
        new.df = self.df.expand(batch_shape)
        new._batch_dims = [-(x + 1) for x in range(len(batch_shape))]
        for name in ("covariance_matrix", "scale_tril", "precision_matrix"):
            if name in self.__dict__:
                setattr(new, name, getattr(self, name).expand(batch_shape + self.event_shape))
        new._dist_chi2 = self._dist_chi2.expand(batch_shape + self.event_shape[:1])
        return self._finish_expand(new, batch_shape)

    def _whole(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self):
        return self._whole(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        factor = self._unbroadcasted_scale_tril
        return self._whole(factor @ factor.mT)

    @lazy_property
    def precision_matrix(self):
        return self._whole(flambeau.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self):
        return self.df.view(self._batch_shape + (1, 1)) * self.covariance_matrix

    @property
    def mode(self):
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor = factor.masked_fill(factor <= 0, flambeau.nan)
        return factor.view(self._batch_shape + (1, 1)) * self.covariance_matrix

    @property
    def variance(self):
        V = self.covariance_matrix
        diagonal = V.diagonal(dim1=-2, dim2=-1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df.view(self._batch_shape + (1, 1)) * (V.pow(2) + products)

    def _bartlett_sampling(self, sample_shape=()):
        """Bartlett's decomposition: L·A·Aᵀ·Lᵀ for a lower triangular A of independent numbers."""
        p = self._event_shape[-1]
        noise = _clamp_above_eps(self._dist_chi2.rsample(sample_shape).sqrt()).diag_embed(
            dim1=-2, dim2=-1
        )
        rows, columns = flambeau.tril_indices(p, p, offset=-1)
        below = flambeau.randn(
            Size(sample_shape) + self._batch_shape + (p * (p - 1) // 2,),
            dtype=noise.dtype,
            device=noise.device,
        )
        noise[..., rows, columns] = below
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def rsample(self, sample_shape=(), max_try_correction=10):
        """Draws; singular ones, which rounding makes at few degrees of freedom, are drawn anew.

        Args:
            max_try_correction: how often.
        """
        sample_shape = Size(sample_shape)
        with flambeau.no_grad():
            self._bartlett_sampling(sample_shape)  # unused, as in PyTorch: the stream is the same
        sample = self._bartlett_sampling(sample_shape)
        singular = self._is_singular(sample).flatten()
        if not singular.any():
            return sample
        warnings.warn("Singular sample detected.", stacklevel=2)
        shape, tail = sample.shape, self._batch_shape + self._event_shape
        sample = sample.reshape((-1,) + tail)
        for _ in range(max_try_correction):
            (positions,) = singular.nonzero(as_tuple=True)
            again = self._bartlett_sampling(positions.shape)
            sample = sample.index_put((positions,), again)
            singular = singular.index_put((positions,), self._is_singular(again))
            if not singular.any():
                break
        return sample.reshape(shape)

    def _is_singular(self, sample):
        """For each position of ``sample_shape`` whether a matrix of the batch is singular."""
        singular = self.support.check(sample).logical_not()
        return singular.flatten(-len(self._batch_shape)).any(-1) if self._batch_shape else singular

    def _log_norm(self):
        nu, p = self.df, self._event_shape[-1]
        diagonal = self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1)
        log_det_factor = diagonal.log().sum(-1)
        return nu * (log_det_factor + 0.5 * p * _log_2) + flambeau.mvlgamma(nu / 2, p=p)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        nu, p = self.df, self._event_shape[-1]
        solved = flambeau.cholesky_solve(value, self._unbroadcasted_scale_tril)
        trace = solved.diagonal(dim1=-2, dim2=-1).sum(-1)
        log_det = flambeau.linalg.slogdet(value).logabsdet
        return 0.5 * (nu - p - 1) * log_det - 0.5 * trace - self._log_norm()

    def entropy(self):
        nu, p = self.df, self._event_shape[-1]
        diagonal = self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1)
        return (
            (p + 1) * (diagonal.log().sum(-1) + 0.5 * p * _log_2)
            + flambeau.mvlgamma(nu / 2, p=p)
            - (nu - p - 1) / 2 * _mvdigamma(nu / 2, p=p)
            + nu * p / 2
        )

    @property
    def _natural_params(self):
        return (0.5 * self.df, -0.5 * self.precision_matrix)

    def _log_normalizer(self, x, y):
        p = self._event_shape[-1]
        log_det = flambeau.linalg.slogdet(-2 * y).logabsdet
        return x * (-log_det + _log_2 * p) + flambeau.mvlgamma(x, p=p)
