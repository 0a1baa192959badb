"""What several distributions need: broadcasting, probabilities and logits, lazy attributes.

>>> import flambeau
>>> broadcast_all(flambeau.zeros(2), 1)
(tensor([0., 0.]), tensor([1., 1.]))
"""

from __future__ import annotations

from functools import update_wrapper
from numbers import Number

import flambeau

__all__ = [
    "broadcast_all",
    "logits_to_probs",
    "clamp_probs",
    "probs_to_logits",
    "lazy_property",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060


def is_tensor_like(value):
    return isinstance(value, flambeau.Tensor) or hasattr(type(value), "__torch_function__")


def broadcast_all(*values):
    """The values as tensors of one shape; numbers take dtype and device of the first tensor.

    Example:
        >>> broadcast_all(1.0, flambeau.zeros(2, dtype=flambeau.float64))[0]
        tensor([1., 1.], dtype=torch.float64)

    Raises:
        ValueError: a value is neither a number nor a tensor.
    """
    if not all(is_tensor_like(v) or isinstance(v, Number) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing"
            " __torch_function__."
        )
    if not all(is_tensor_like(v) for v in values):
        first = next((v for v in values if is_tensor_like(v)), None)
        options = {"dtype": flambeau.get_default_dtype()}
        if first is not None:
            options = {"dtype": first.dtype, "device": first.device}
        values = tuple(v if is_tensor_like(v) else flambeau.tensor(v, **options) for v in values)
    return flambeau.broadcast_tensors(*values)


def _standard_normal(shape, dtype, device):
    return flambeau.normal(
        flambeau.zeros(shape, dtype=dtype, device=device),
        flambeau.ones(shape, dtype=dtype, device=device),
    )


def _sum_rightmost(value, dim):
    """The sum over the last ``dim`` dimensions."""
    if dim == 0:
        return value
    return value.reshape(value.shape[:-dim] + (-1,)).sum(-1)


def logits_to_probs(logits, is_binary=False):
    """Probabilities of log odds (``is_binary``) or of unnormalized log probabilities.

    Example:
        >>> logits_to_probs(flambeau.zeros(2))
        tensor([0.5000, 0.5000])
    """
    return flambeau.sigmoid(logits) if is_binary else flambeau.softmax(logits, dim=-1)


def clamp_probs(probs):
    """Probabilities kept away from 0 and 1 by the dtype's precision.

    Example:
        >>> clamp_probs(flambeau.tensor(0.0)) > 0
        tensor(True)
    """
    eps = flambeau.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs, is_binary=False):
    """Log odds (``is_binary``) or log probabilities of probabilities.

    Example:
        >>> probs_to_logits(flambeau.tensor([0.5, 0.5]), is_binary=True)
        tensor([0., 0.])
    """
    inner = clamp_probs(probs)
    return flambeau.log(inner) - flambeau.log1p(-inner) if is_binary else flambeau.log(inner)


class lazy_property:
    """An attribute that is computed when it is first asked for, then kept.

    Example:
        >>> class Square:
        ...     side = 2
        ...     @lazy_property
        ...     def area(self):
        ...         return self.side**2
        >>> Square().area
        4
    """

    def __init__(self, wrapped):
        self.wrapped = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance, obj_type=None):
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        # The value outlives the call, so it has its history whatever mode the first caller is in.
        with flambeau.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property, property):
    """What the class itself shows: documentation tools look for a property."""

    def __init__(self, wrapped):
        property.__init__(self, wrapped)


def tril_matrix_to_vec(mat, diag=0):
    """The entries of lower triangular matrices up to diagonal ``diag``, row by row.

    Example:
        >>> tril_matrix_to_vec(flambeau.tensor([[1, 0], [2, 3]]))
        tensor([1, 2, 3])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = flambeau.tril_indices(n, n, diag)
    return mat[..., rows, columns]


def _entries(n, diag):
    """How many entries of an n x n matrix lie on or below diagonal ``diag``."""
    if diag < 0:
        return (n + diag) * (n + diag + 1) // 2
    above = max(n - diag - 1, 0)
    return n * n - above * (above + 1) // 2


def vec_to_tril_matrix(vec, diag=0):
    """The lower triangular matrices with these entries up to diagonal ``diag``, row by row.

    Example:
        >>> vec_to_tril_matrix(flambeau.tensor([1.0, 2.0, 3.0]))
        tensor([[1., 0.],
                [2., 3.]])
    """
    given, n = vec.shape[-1], max(-diag, 0)
    while _entries(n, diag) < given:
        n += 1
    if _entries(n, diag) != given:
        raise ValueError(
            f"The size of last dimension is {given} which cannot be expressed as the lower"
            " triangular part of a square D x D matrix."
        )
    mat = vec.new_zeros(vec.shape[:-1] + (n, n))
    rows, columns = flambeau.tril_indices(n, n, diag)
    mat[..., rows, columns] = vec
    return mat
