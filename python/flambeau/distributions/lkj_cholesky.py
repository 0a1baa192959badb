"""Cholesky factors of random correlation matrices."""

from __future__ import annotations

import math
from numbers import Number

import flambeau
from flambeau import Size

from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices R with density ``det(R) ^ (concentration - 1)``.

    Lewandowski, Kurowicka & Joe, "Generating random correlation matrices based on vines and
    extended onion method" (2009).

    Args:
        dim: the number of rows.
        concentration: 1 for uniform matrices, more for matrices nearer to the identity.

    Example:
        >>> LKJCholesky(3, 0.5).sample().shape
        torch.Size([3, 3])
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        options = {"dtype": self.concentration.dtype, "device": self.concentration.device}
        # Section 3.2 has Beta(k / 2, concentration + (dim - 1 - k) / 2) for the squared length of
        # row k + 1 left of the diagonal. PyTorch's first parameter is k - 1 / 2, the same for k = 1
        # alone; its samples are what a seed is to give, so it is kept.
        rows = flambeau.arange(dim - 1, **options)
        rows = flambeau.cat([rows.new_zeros((1,)), rows])
        free = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(rows + 0.5, free.unsqueeze(-1) - 0.5 * rows)
        batch_shape = Size() if isinstance(concentration, Number) else self.concentration.size()
        super().__init__(batch_shape, Size((dim, dim)), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._expand_parameters(LKJCholesky, batch_shape, _instance, "concentration")
        new.dim = self.dim
        new._beta = self._beta.expand(new._batch_shape + (self.dim,))
        return new

    def sample(self, sample_shape=()):
        # The onion method: each row left of the diagonal is a direction, uniform on the sphere,
        # times a length from the beta distribution; the diagonal completes it to a unit vector.
        squared = self._beta.sample(sample_shape).unsqueeze(-1)
        direction = flambeau.randn(
            self._extended_shape(sample_shape), dtype=squared.dtype, device=squared.device
        ).tril(-1)
        direction = direction / direction.norm(dim=-1, keepdim=True)
        direction[..., 0, :].fill_(0.0)
        w = flambeau.sqrt(squared) * direction
        tiny = flambeau.finfo(w.dtype).tiny
        diagonal = flambeau.clamp(1 - flambeau.sum(w**2, dim=-1), min=tiny).sqrt()
        return w + flambeau.diag_embed(diagonal)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        # det(R)^(c - 1) and the Jacobian of R by its factor are powers of the diagonal
        order = flambeau.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        unnormalized = flambeau.sum(order * diagonal.log(), dim=-1)
        # The normalization on page 1999, its products written as a multivariate gamma function.
        m = self.dim - 1
        alpha = self.concentration + 0.5 * m
        log_norm = (
            0.5 * m * math.log(math.pi)
            + flambeau.mvlgamma(alpha - 0.5, m)
            - flambeau.lgamma(alpha) * m
        )
        return unnormalized - log_norm
