"""Parametrizations that are ready to use: weight norm, spectral norm, orthogonal matrices."""

from __future__ import annotations

from enum import Enum, auto

from flambeau._C import Tensor, ops
from flambeau._dtype_info import finfo
from flambeau.autograd import no_grad
from flambeau.nn import functional as F
from flambeau.nn._functional_raw import norm_except_dim
from flambeau.nn.modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from flambeau.nn.modules.module import Module

from . import parametrize

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def _tensor_of(module, name):
    tensor = getattr(module, name, None)
    if not isinstance(tensor, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return tensor


# Orthogonal matrices --------------------------------------------------------------------------


def _is_orthogonal(matrix, eps=None):
    """Whether the columns are orthonormal, up to rounding."""
    rows, columns = matrix.shape[-2:]
    eye = ops.eye(columns, dtype=matrix.dtype, device=matrix.device)
    if eps is None:
        eps = 10.0 * rows * finfo(matrix.dtype).eps
    return ops.allclose(matrix.mH @ matrix, eye, atol=eps)


def _make_orthogonal(matrix):
    """The Q of ``Q R = matrix`` where the diagonal of R is positive, which makes it unique."""
    reflectors, tau = ops.geqrf(matrix)
    q = ops.linalg_householder_product(reflectors, tau)
    return q * reflectors.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


class _Orthogonal(Module):
    """Maps any matrix to one with orthonormal columns, or rows if it is wide.

    With ``base``, the result of the map is multiplied to a fixed orthogonal matrix (Lezcano Casado,
    Trivializations for gradient-based optimization on manifolds, 2019).
    """

    base: Tensor | None

    def __init__(self, weight, orthogonal_map, *, use_trivialization=True):
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x):
        wide = x.size(-2) < x.size(-1)
        if wide:
            x = x.mT
        q = self._reflected(x) if self.orthogonal_map is _OrthMaps.householder else self._rotated(x)
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if wide else q

    def _rotated(self, x):
        """The first columns of a rotation, which a skew matrix with x below its diagonal gives."""
        rows, columns = x.shape[-2:]
        x = x.tril()
        if rows != columns:
            x = ops.cat([x, x.new_zeros((*x.shape[:-1], rows - columns))], dim=-1)
        skew = x - x.mH
        if self.orthogonal_map is _OrthMaps.matrix_exp:
            q = ops.matrix_exp(skew)
        else:
            eye = ops.eye(rows, dtype=x.dtype, device=x.device)
            q = ops.linalg_solve(eye - skew / 2, eye + skew / 2)
        return q if rows == columns else q[..., :columns]

    def _reflected(self, x):
        """A product of reflections whose vectors lie below the diagonal of x; its signs on it."""
        vectors = x.tril(diagonal=-1)
        tau = 2.0 / (1.0 + (vectors * vectors).sum(-2))
        q = ops.linalg_householder_product(vectors, tau)
        return q * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)

    @no_grad()
    def right_inverse(self, value):
        if value.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. "
                f"Got a tensor of shape {value.shape}."
            )
        wide = value.size(-2) < value.size(-1)
        tall = value.mT if wide else value
        if hasattr(self, "base"):
            self.base = self._completed(tall)
            # Minus the unit matrix: no rotation, and as reflections twice turned.
            start = ops.zeros_like(value)
            start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
            return start
        if self.orthogonal_map is not _OrthMaps.householder:
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley "
                "parametrizations when use_trivialization=False."
            )
        reflectors, tau = ops.geqrf(tall)
        # On the diagonal the sign of R; where there is no reflection, `forward` still makes one.
        diagonal = reflectors.diagonal(dim1=-2, dim2=-1)
        diagonal.sign_()
        diagonal.copy_(ops.where(tau == 0.0, -diagonal, diagonal))
        return reflectors.mT if wide else reflectors

    def _completed(self, tall):
        """A square orthogonal matrix that begins with the columns of tall, made orthonormal."""
        rows, columns = tall.shape[-2:]
        if rows != columns:
            shape = (*tall.shape[:-2], rows, rows - columns)
            more = ops.randn(shape, dtype=tall.dtype, device=tall.device)
            return _make_orthogonal(ops.cat([tall, more], dim=-1))
        return tall.clone() if _is_orthogonal(tall) else _make_orthogonal(tall)


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Keeps a matrix, or a batch of them, orthogonal (unitary if complex) while it is trained.

    Columns are orthonormal, or rows where there are fewer of them.

    Args:
        orthogonal_map: ``matrix_exp`` or ``cayley`` of a skew matrix, or ``householder``, a product
            of reflections. If left out, matrix_exp for square and complex matrices, else
            householder.
        use_trivialization: stores a fixed orthogonal matrix that the map's result is multiplied
            to, so that the first value is that of the tensor, made orthogonal.

    Raises:
        ValueError: there is no such tensor, it is a vector, or the map is unknown.

    >>> layer = orthogonal(nn.Linear(4, 4))
    >>> flambeau.dist(layer.weight.mT @ layer.weight, flambeau.eye(4)) < 1e-5
    tensor(True)
    """
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _OrthMaps.__members__:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
            f"Got: {orthogonal_map}"
        )
    orth = _Orthogonal(weight, _OrthMaps[orthogonal_map], use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, orth, unsafe=True)


# Weight norm ----------------------------------------------------------------------------------


class _WeightNorm(Module):
    """``original0 * original1 / |original1|``, the norm of each slice along a dimension."""

    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim  # -1: the norm of all elements

    def forward(self, weight_g, weight_v):
        return weight_v * (weight_g / norm_except_dim(weight_v, 2, self.dim))

    def right_inverse(self, weight):
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int = 0):
    """Splits a parameter into its norm, ``original0``, and its direction, ``original1``.

    See Salimans and Kingma, Weight normalization, 2016.

    Args:
        dim: the dimension whose slices have a norm each; None for one norm of all.

    >>> layer = weight_norm(nn.Linear(3, 2))
    >>> [tuple(p.shape) for p in layer.parametrizations.weight.parameters()]
    [(2, 1), (2, 3)]
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def take_old_names(state_dict, prefix, *unused):
        # `nn.utils.weight_norm` saves the parts as two parameters of the module.
        old = f"{prefix}{name}_g", f"{prefix}{name}_v"
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                new = f"{prefix}parametrizations.{name}.original{i}"
                state_dict[new] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(take_old_names)
    return module


# Spectral norm --------------------------------------------------------------------------------


class _SpectralNorm(Module):
    """A weight divided by its largest singular value, which power iteration estimates.

    ``_u`` and ``_v`` are the estimates of the singular vectors.
    """

    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(
                "Dimension out of range (expected to be in range of "
                f"[-{ndim}, {ndim - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but "
                f"got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim % ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._reshape_weight_to_matrix(weight)
            rows, columns = matrix.shape
            for key, size in (("_u", rows), ("_v", columns)):
                start = matrix.new_empty(size).normal_(0, 1)
                self.register_buffer(key, F.normalize(start, dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _reshape_weight_to_matrix(self, weight):
        if self.dim != 0:
            rest = (d for d in range(weight.dim()) if d != self.dim)
            weight = weight.permute(self.dim, *rest)
        return weight.flatten(1)

    @no_grad()
    def _power_method(self, matrix, n_power_iterations):
        # In place: what shares the buffers, as a replica of the module does, stays up to date.
        for _ in range(n_power_iterations):
            self._u.copy_(F.normalize(ops.mv(matrix, self._v), dim=0, eps=self.eps))
            self._v.copy_(F.normalize(ops.mv(matrix.mH, self._u), dim=0, eps=self.eps))

    def forward(self, weight):
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # Clones: the next call changes the buffers, and backward may come after it.
        u, v = self._u.clone(), self._v.clone()
        return weight / ops.vdot(u, ops.mv(matrix, v))

    def right_inverse(self, value):
        # What is assigned is assumed to be normalised, or about to be.
        return value


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Keeps the largest singular value of a parameter at 1; a vector gets norm 1.

    See Miyato et al., Spectral normalization for generative adversarial networks, 2018.

    Args:
        n_power_iterations: steps of power iteration each time the parameter is used in training.
        eps: least norm that is divided by.
        dim: the dimension of the outputs, the rows of the matrix; 1 for transposed convolutions,
            else 0, if left out.

    Raises:
        ValueError: there is no such tensor, or n_power_iterations is not positive.
        IndexError: dim is out of range.

    >>> layer = spectral_norm(nn.Linear(20, 40))
    >>> 0.8 < float(flambeau.linalg.matrix_norm(layer.weight, 2)) < 1.2
    True
    """
    weight = _tensor_of(module, name)
    if dim is None:
        transposed = isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d))
        dim = 1 if transposed else 0
    norm = _SpectralNorm(weight, n_power_iterations, dim, eps)
    return parametrize.register_parametrization(module, name, norm)
