"""Transforms of vectors and matrices, and of parts of a tensor."""

# mypy: disable-error-code="override"
from __future__ import annotations

import flambeau
from flambeau.nn.functional import logsigmoid, pad, softplus

from . import constraints
from ._transform import Transform
from ._transforms_pointwise import _clipped_sigmoid
from .utils import lazy_property, tril_matrix_to_vec, vec_to_tril_matrix


class CorrCholeskyTransform(Transform):
    """Vectors of ``D * (D - 1) / 2`` numbers to Cholesky factors of correlation matrices.

    The numbers, squeezed by tanh, are canonical partial correlations; row by row they take their
    share of what is left of a unit length (Stan Reference Manual, "Cholesky factors of correlation
    matrices"; Lewandowski, Kurowicka & Joe 2009).

    Example:
        >>> CorrCholeskyTransform()(flambeau.zeros(1))
        tensor([[1., 0.],
                [0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x):
        eps = flambeau.finfo(x.dtype).eps
        partial = flambeau.tanh(x).clamp(min=-1 + eps, max=1 - eps)
        partial = vec_to_tril_matrix(partial, diag=-1)
        # the length that is left after each entry of a row
        left = (1 - partial**2).sqrt().cumprod(-1)
        partial = partial + flambeau.eye(partial.shape[-1], dtype=x.dtype, device=x.device)
        return partial * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y):
        left = 1 - flambeau.cumsum(y * y, dim=-1)
        left = tril_matrix_to_vec(pad(left[..., :-1], [1, 0], value=1), diag=-1)
        partial = tril_matrix_to_vec(y, diag=-1) / left.sqrt()
        # atanh, which stays finite a little longer
        return (partial.log1p() - partial.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x, y, intermediates=None):
        # An entry is tanh(x) times the length that is left of its row before it; the latter depends
        # on entries to the left alone, so the Jacobian is triangular.
        left = 1 - (y * y).cumsum(dim=-1)
        lengths = 0.5 * tril_matrix_to_vec(left, diag=-2).log().sum(-1)
        squeezed = -2 * (x + softplus(-2 * x) - 0.6931471805599453).sum(-1)
        return lengths + squeezed

    def forward_shape(self, shape):
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        n = shape[-1]
        size = round((0.25 + 2 * n) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != n:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (size, size)

    def inverse_shape(self, shape):
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        size = shape[-1]
        return shape[:-2] + (size * (size - 1) // 2,)


class SoftmaxTransform(Transform):
    """Numbers to probabilities, ``y = exp(x) / sum(exp(x))``; not bijective.

    Example:
        >>> SoftmaxTransform()(flambeau.zeros(2))
        tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def __eq__(self, other):
        return isinstance(other, SoftmaxTransform)

    def _call(self, x):
        weights = (x - x.max(-1, True)[0]).exp()
        return weights / weights.sum(-1, True)

    def _inverse(self, y):
        return y.log()

    def forward_shape(self, shape):
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape

    def inverse_shape(self, shape):
        return self.forward_shape(shape)


class StickBreakingTransform(Transform):
    """K numbers to K + 1 probabilities: each takes its share of what is left of a stick.

    Zeros become equal shares (Stan Reference Manual, "Unit simplex").

    Example:
        >>> StickBreakingTransform()(flambeau.zeros(3))
        tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def __eq__(self, other):
        return isinstance(other, StickBreakingTransform)

    @staticmethod
    def _log_offset(x):
        """log K, ..., log 1."""
        n = x.shape[-1]
        return (n + 1 - x.new_ones(n).cumsum(-1)).log()

    def _call(self, x):
        share = _clipped_sigmoid(x - self._log_offset(x))
        left = (1 - share).cumprod(-1)
        return pad(share, [0, 1], value=1) * pad(left, [1, 0], value=1)

    def _inverse(self, y):
        shares = y[..., :-1]
        left = 1 - shares.cumsum(-1)
        # rounding may leave less than nothing
        left = flambeau.clamp(left, min=flambeau.finfo(y.dtype).tiny)
        return shares.log() - left.log() + self._log_offset(shares)

    def log_abs_det_jacobian(self, x, y):
        x = x - self._log_offset(x)
        # dy/dx = y·(1 - share), with log(1 - share) = logsigmoid(x) - x
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape):
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape):
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape[:-1] + (shape[-1] - 1,)


class LowerCholeskyTransform(Transform):
    """Matrices to lower triangular ones with a positive diagonal, the exponentials.

    Example:
        >>> LowerCholeskyTransform()(flambeau.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def __eq__(self, other):
        return isinstance(other, LowerCholeskyTransform)

    def _call(self, x):
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y):
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Matrices to positive definite ones, by their Cholesky factors.

    Example:
        >>> PositiveDefiniteTransform()(flambeau.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def __eq__(self, other):
        return isinstance(other, PositiveDefiniteTransform)

    def _call(self, x):
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y):
        return LowerCholeskyTransform().inv(flambeau.linalg.cholesky(y))


class CatTransform(Transform):
    """Transforms of parts, of lengths ``lengths``, along dimension ``dim``.

    Example:
        >>> t = CatTransform([
        ...     flambeau.distributions.ExpTransform(),
        ...     flambeau.distributions.AffineTransform(0, 2),
        ... ], lengths=[1, 2])
        >>> t(flambeau.ones(3))
        tensor([2.7183, 2.0000, 2.0000])
    """

    def __init__(self, tseq, dim=0, lengths=None, cache_size=0):
        assert all(isinstance(t, Transform) for t in tseq), (
            "All elements of tseq must be Transform instances"
        )
        if cache_size:
            tseq = [t.with_cache(cache_size) for t in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms = list(tseq)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        assert len(self.lengths) == len(self.transforms), (
            f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})"
        )
        self.dim = dim

    @lazy_property
    def event_dim(self):
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self):
        return sum(self.lengths)

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _parts(self, x, name):
        """Each transform with its part of ``x``."""
        assert -x.dim() <= self.dim < x.dim(), (
            f"dim {self.dim} out of range for {name} with {x.dim()} dimensions"
        )
        assert x.size(self.dim) == self.length, (
            f"{name}.size({self.dim}) = {x.size(self.dim)} must equal length {self.length}"
        )
        return list(zip(self.transforms, x.split(self.lengths, self.dim)))

    def _call(self, x):
        return flambeau.cat([t(part) for t, part in self._parts(x, "x")], dim=self.dim)

    def _inverse(self, y):
        return flambeau.cat([t.inv(part) for t, part in self._parts(y, "y")], dim=self.dim)

    def log_abs_det_jacobian(self, x, y):
        terms = []
        for (t, before), (_, after) in zip(self._parts(x, "x"), self._parts(y, "y")):
            term = t.log_abs_det_jacobian(before, after)
            extra = self.event_dim - t.event_dim
            terms.append(term.reshape(term.shape[: term.dim() - extra] + (-1,)).sum(-1)
                         if extra else term)  # fmt: skip
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        return flambeau.cat(terms, dim=dim) if dim < 0 else sum(terms)

    @property
    def bijective(self):
        return all(t.bijective for t in self.transforms)

    @constraints.dependent_property
    def domain(self):
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self):
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(Transform):
    """One transform for each position in dimension ``dim``.

    Example:
        >>> t = StackTransform([
        ...     flambeau.distributions.ExpTransform(),
        ...     flambeau.distributions.identity_transform,
        ... ])
        >>> t(flambeau.ones(2))
        tensor([2.7183, 1.0000])
    """

    def __init__(self, tseq, dim=0, cache_size=0):
        assert all(isinstance(t, Transform) for t in tseq), (
            "All elements of tseq must be Transform instances"
        )
        if cache_size:
            tseq = [t.with_cache(cache_size) for t in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms = list(tseq)
        self.dim = dim

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
        return StackTransform(self.transforms, self.dim, cache_size)

    def _slice(self, z):
        return [z.select(self.dim, i) for i in range(z.size(self.dim))]

    def _parts(self, x, name):
        """Each transform with its slice of ``x``."""
        assert -x.dim() <= self.dim < x.dim(), (
            f"dim {self.dim} out of range for {name} with {x.dim()} dimensions"
        )
        assert x.size(self.dim) == len(self.transforms), (
            f"{name}.size({self.dim}) = {x.size(self.dim)} must equal len(transforms)"
            f" {len(self.transforms)}"
        )
        return list(zip(self.transforms, self._slice(x)))

    def _call(self, x):
        return flambeau.stack([t(part) for t, part in self._parts(x, "x")], dim=self.dim)

    def _inverse(self, y):
        return flambeau.stack([t.inv(part) for t, part in self._parts(y, "y")], dim=self.dim)

    def log_abs_det_jacobian(self, x, y):
        pairs = zip(self._parts(x, "x"), self._parts(y, "y"))
        terms = [t.log_abs_det_jacobian(before, after) for (t, before), (_, after) in pairs]
        return flambeau.stack(terms, dim=self.dim)

    @property
    def bijective(self):
        return all(t.bijective for t in self.transforms)

    @constraints.dependent_property
    def domain(self):
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self):
        return constraints.stack([t.codomain for t in self.transforms], self.dim)


class CumulativeDistributionTransform(Transform):
    """Values of a distribution to the probabilities of at most these.

    Example:
        >>> t = CumulativeDistributionTransform(flambeau.distributions.Normal(0.0, 1.0))
        >>> t(flambeau.tensor(0.0))
        tensor(0.5000)
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self):
        return self.distribution.support

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x, y):
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)
