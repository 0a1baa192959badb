"""Gradients kept within bounds before an optimizer's step."""

from __future__ import annotations

import functools
import warnings

from flambeau._C import Tensor, complex128, float64, ops, promote_types
from flambeau.autograd import no_grad


def _gradients(parameters):
    if isinstance(parameters, Tensor):
        parameters = [parameters]
    return [p.grad for p in parameters if p.grad is not None]


def _norm(tensors, norm_type, error_if_nonfinite):
    """In float64, and the dtype of a result: squares of float32 numbers overflow from 1.8e19 on."""
    with no_grad():
        norms = [
            ops.linalg_vector_norm(t, norm_type, dtype=complex128 if t.is_complex() else float64)
            for t in tensors
        ]
        all_norms = ops.stack([n.to(device=norms[0].device) for n in norms])
        total = ops.linalg_vector_norm(all_norms, norm_type)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, "
            "so it cannot be clipped. To disable this error and scale the gradients by the "
            "non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    dtype = functools.reduce(promote_types, (t.dtype for t in tensors))
    return total, dtype.to_real()


def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all tensors together, as if they were one vector, computed in float64.

    Args:
        norm_type: which norm; may be ``inf``.
        error_if_nonfinite: raises RuntimeError where the norm is nan or infinite.
        foreach: accepted; there is one implementation.
    """
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not tensors:
        return ops.full((), 0.0)
    total, dtype = _norm(tensors, float(norm_type), error_if_nonfinite)
    return total.to(dtype)


def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scales gradients, in place, from the norm they have to at most max_norm.

    Raises:
        ValueError: max_norm is negative, which would turn the gradients' sign.
    """
    max_norm = float(max_norm)
    if max_norm < 0:
        raise ValueError(f"clip_grad_norm_: max_norm must not be negative, got {max_norm}")
    grads = _gradients(parameters)
    if not grads:
        return
    with no_grad():
        # Clamped to 1 instead of tested: no synchronisation, and nan shows up in the result.
        factor = (max_norm / (total_norm + 1e-6)).clamp(max=1.0)
        for grad in grads:
            grad.mul_(factor.to(device=grad.device))


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales the gradients of parameters, in place, to a total norm of at most max_norm.

    Returns:
        The norm before.

    Example:
        >>> p = nn.Parameter(flambeau.zeros(2))
        >>> p.grad = flambeau.tensor([3.0, 4.0])
        >>> nn.utils.clip_grad_norm_([p], 1.0)
        tensor(5.)
        >>> p.grad
        tensor([0.6000, 0.8000])
    """
    if not isinstance(parameters, Tensor):
        parameters = list(parameters)
        if not parameters:
            warnings.warn(
                "`parameters` is an empty generator, no gradient clipping will occur.",
                stacklevel=2,
            )
    grads = _gradients(parameters)
    if not grads:
        return get_total_norm(grads, norm_type)
    total, dtype = _norm(grads, float(norm_type), error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total.to(dtype)


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The old name of `clip_grad_norm_`."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of "
        "`torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Limits all elements of the gradients, in place, to [-clip_value, clip_value]."""
    limit = float(clip_value)
    with no_grad():
        for grad in _gradients(parameters):
            grad.clamp_(min=-limit, max=limit)


# Names that programs take although they are private.
_get_total_norm, _clip_grads_with_norm_ = get_total_norm, clip_grads_with_norm_
