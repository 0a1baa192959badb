"""Initial values of parameters. Every function fills its tensor in place and returns it.

The random numbers are drawn in PyTorch's order, so that a seed gives PyTorch's parameters.
"""

from __future__ import annotations

import functools
import math
import warnings

from flambeau._C import ops
from flambeau.autograd import no_grad

__all__ = [
    "calculate_gain",
    "uniform_",
    "normal_",
    "trunc_normal_",
    "constant_",
    "ones_",
    "zeros_",
    "eye_",
    "dirac_",
    "xavier_uniform_",
    "xavier_normal_",
    "kaiming_uniform_",
    "kaiming_normal_",
    "orthogonal_",
    "sparse_",
]

_LINEAR = frozenset(
    (
        "linear",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "sigmoid",
    )
)


def calculate_gain(nonlinearity, param=None):
    """The factor by which a nonlinearity shrinks deviations, for the other initialisers.

    Args:
        nonlinearity: its name in `nn.functional`.
        param: the negative slope, for ``"leaky_relu"``.

    >>> nn.init.calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        if param is None:
            slope = 0.01
        elif isinstance(param, (int, float)) and not isinstance(param, bool):
            slope = param
        else:
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Numbers between a and b."""
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Normally distributed numbers."""
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Normally distributed numbers, drawn again until all lie in [a, b]."""

    def below(x):
        return (1.0 + math.erf((x - mean) / (std * math.sqrt(2.0)))) / 2.0

    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of "
            "values may be incorrect.",
            stacklevel=2,
        )
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    with no_grad():
        if below(b) - below(a) > 0.3:
            return _redraw_normal(tensor, mean, std, a, b, generator)
        return _accept_uniform(tensor, mean, std, a, b, generator)


def _redraw_normal(tensor, mean, std, a, b, generator):
    # The bounds as the dtype rounds them, so that a value on one of them counts as inside.
    low, high = tensor.new_full((), a).item(), tensor.new_full((), b).item()
    tensor.normal_(mean, std, generator=generator)
    while True:
        outside = (tensor < low) | (tensor > high)
        if not bool(outside.any()):
            return tensor
        again = ops.empty_like(tensor).normal_(mean, std, generator=generator)
        tensor.copy_(ops.where(outside, again, tensor))


def _accept_uniform(tensor, mean, std, a, b, generator):
    """Rejection from a uniform proposal: better where [a, b] holds little of the distribution."""
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    open_places = None
    while True:
        drawn = ops.empty_like(tensor).uniform_(a, b, generator=generator)
        level = ops.empty_like(tensor).uniform_(generator=generator).log_()
        rejected = level > ((drawn - mean) / std).pow(2) * -0.5 - peak
        if open_places is None:
            tensor.copy_(drawn)
            open_places = rejected
        else:
            tensor.copy_(ops.where(open_places, drawn, tensor))
            open_places = open_places & rejected
        if not bool(open_places.any()):
            return tensor


def constant_(tensor, val):
    """The same number everywhere."""
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor):
    """Ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor):
    """Zeros."""
    with no_grad():
        return tensor.zero_()


def eye_(tensor):
    """The identity matrix; ValueError unless the tensor has 2 dimensions."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        return tensor.zero_().fill_diagonal_(1)


def dirac_(tensor, groups=1):
    """A convolution's weight that passes its input on, in each of the groups."""
    dimensions = tensor.dim()
    if dimensions not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.size(0) % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    out_channels = tensor.size(0) // groups
    center = tuple(s // 2 for s in tensor.shape[2:])
    with no_grad():
        tensor.zero_()
        for g in range(groups):
            for d in range(min(out_channels, tensor.size(1))):
                tensor[(g * out_channels + d, d, *center)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor):
    if tensor.dim() < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    receptive = 1
    for s in tensor.shape[2:]:
        receptive *= s
    return tensor.size(1) * receptive, tensor.size(0) * receptive


def _calculate_correct_fan(tensor, mode):
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode == "fan_in" else fan_out


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Uniform numbers whose deviation keeps activations and gradients alike (Glorot 2010)."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """`xavier_uniform_` with normally distributed numbers."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
    return normal_(tensor, 0.0, std, generator)


def _warn_empty():
    warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Uniform numbers whose deviation suits rectifiers (He 2015).

    Args:
        a: the negative slope of the rectifier.
        mode: ``"fan_in"`` keeps the size of activations, ``"fan_out"`` that of gradients.
        nonlinearity: its name in `nn.functional`.
    """
    if 0 in tensor.shape:
        _warn_empty()
        return tensor
    fan = _calculate_correct_fan(tensor, mode)
    std = calculate_gain(nonlinearity, a) / math.sqrt(fan)
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """`kaiming_uniform_` with normally distributed numbers."""
    if 0 in tensor.shape:
        _warn_empty()
        return tensor
    fan = _calculate_correct_fan(tensor, mode)
    std = calculate_gain(nonlinearity, a) / math.sqrt(fan)
    return normal_(tensor, 0.0, std, generator)


def orthogonal_(tensor, gain=1, generator=None):
    """A random (semi-)orthogonal matrix; trailing dimensions are flattened."""
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.size(0)
    columns = tensor.numel() // rows
    with no_grad():
        flat = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
        if rows < columns:
            flat = flat.t()
        q, r = ops.linalg_qr(flat.contiguous())
        # The sign of r's diagonal makes the distribution uniform.
        q = q * r.diagonal().sign()
        if rows < columns:
            q = q.t()
        tensor.view_as(q).copy_(q)
        return tensor.mul_(gain)


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Normal numbers, of which a share of `sparsity` of each column is set to zero."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            order = ops.randperm(rows, generator=generator)
            tensor[order[:zeros], column] = 0
    return tensor


def _deprecated(function):
    """The name without underscore, which programs from before 0.4 use."""
    new = function.__name__
    old = new[:-1]

    @functools.wraps(function)
    def renamed(*args, **kwargs):
        warnings.warn(
            f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **kwargs)

    renamed.__name__ = old
    return renamed


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)


# Names that programs take although they are private.
_no_grad_uniform_, _no_grad_normal_, _no_grad_trunc_normal_ = uniform_, normal_, trunc_normal_
_no_grad_fill_, _no_grad_zero_ = constant_, zeros_
