"""Activations, softmax and dropout: the part of `nn.functional` where most calls are one operator.

`inplace=True` chooses the form of the operator that overwrites its input.
"""

from __future__ import annotations

import warnings

from flambeau._C import ops


def threshold(input, threshold, value, inplace=False):
    """``value`` where an element does not exceed the threshold."""
    if inplace:
        return ops.threshold_(input, threshold, value)
    return ops.threshold(input, threshold, value)


def relu(input, inplace=False):
    """The larger of each element and zero.

    >>> F.relu(flambeau.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return ops.relu_(input) if inplace else ops.relu(input)


def relu6(input, inplace=False):
    """Elements limited to [0, 6]."""
    return ops.hardtanh_(input, 0, 6) if inplace else ops.hardtanh(input, 0, 6)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """Elements limited to [min_val, max_val]; ValueError where that is empty."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if inplace:
        return ops.hardtanh_(input, min_val, max_val)
    return ops.hardtanh(input, min_val, max_val)


def hardsigmoid(input, inplace=False):
    """A sigmoid of three straight lines."""
    return ops.hardsigmoid_(input) if inplace else ops.hardsigmoid(input)


def hardswish(input, inplace=False):
    """``x * hardsigmoid(x)``."""
    return ops.hardswish_(input) if inplace else ops.hardswish(input)


def elu(input, alpha=1.0, inplace=False):
    """``alpha * (exp(x) - 1)`` below zero, x above."""
    return ops.elu_(input, alpha) if inplace else ops.elu(input, alpha)


def selu(input, inplace=False):
    """The self-normalising exponential linear unit."""
    return ops.selu_(input) if inplace else ops.selu(input)


def celu(input, alpha=1.0, inplace=False):
    """``alpha * (exp(x / alpha) - 1)`` below zero, x above."""
    return ops.celu_(input, alpha) if inplace else ops.celu(input, alpha)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """Negative elements times ``negative_slope``."""
    if inplace:
        return ops.leaky_relu_(input, negative_slope)
    return ops.leaky_relu(input, negative_slope)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """Negative elements times a slope, drawn from [lower, upper] in training, else its middle."""
    if inplace:
        return ops.rrelu_(input, lower, upper, training)
    return ops.rrelu(input, lower, upper, training)


def silu(input, inplace=False):
    """``x * sigmoid(x)``."""
    return ops.silu_(input) if inplace else ops.silu(input)


def mish(input, inplace=False):
    """``x * tanh(softplus(x))``."""
    return ops.mish_(input) if inplace else ops.mish(input)


def glu(input, dim=-1):
    """The first half along dim times the sigmoid of the second."""
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return ops.glu(input, dim)


def logsigmoid(input):
    """``log(sigmoid(x))``, without overflow."""
    return ops.log_sigmoid(input)


def sigmoid(input):
    """``1 / (1 + exp(-x))``."""
    return input.sigmoid()


def tanh(input):
    """Hyperbolic tangent."""
    return input.tanh()


def tanhshrink(input):
    """``x - tanh(x)``."""
    return input - input.tanh()


def softsign(input):
    """``x / (1 + |x|)``."""
    return input / (input.abs() + 1)


# Softmax ------------------------------------------------------------------------------------------


def _softmax_dim(name, ndim, stacklevel):
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include "
        "dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """``exp(x)`` divided by its sum along dim.

    Args:
        dim: the dimension whose elements sum to one.
        dtype: computes in that dtype, which is also the result's.

    >>> F.softmax(flambeau.zeros(2), dim=0)
    tensor([0.5000, 0.5000])
    """
    if dim is None:
        dim = _softmax_dim("softmax", input.dim(), _stacklevel)
    return ops.softmax(input, dim, dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """`softmax` of the negative."""
    if dim is None:
        dim = _softmax_dim("softmin", input.dim(), _stacklevel)
    return ops.softmax(-input, dim, dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """The logarithm of `softmax`, computed without overflow."""
    if dim is None:
        dim = _softmax_dim("log_softmax", input.dim(), _stacklevel)
    return ops.log_softmax(input, dim, dtype)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """A sample of the Gumbel-softmax distribution, one-hot with ``hard``.

    The gradient of a hard sample is that of the soft one.
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    gumbels = -ops.empty_like(logits).exponential_().log()
    soft = ((logits + gumbels) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = ops.zeros_like(logits).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft


# Dropout ------------------------------------------------------------------------------------------


def _check_probability(p):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input, p=0.5, training=True, inplace=False):
    """Zeroes elements with probability p in training, and scales the others by ``1 / (1 - p)``.

    Raises:
        ValueError: p is outside of [0, 1].
    """
    if p < 0.0 or p > 1.0:
        _check_probability(p)
    return ops.dropout_(input, p, training) if inplace else ops.dropout(input, p, training)


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout that keeps mean and variance of what `selu` gives."""
    _check_probability(p)
    if inplace:
        return ops.alpha_dropout_(input, p, training)
    return ops.alpha_dropout(input, p, training)


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """`alpha_dropout` of whole channels."""
    _check_probability(p)
    if inplace:
        return ops.feature_alpha_dropout_(input, p, training)
    return ops.feature_alpha_dropout(input, p, training)


def dropout1d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole channels of (N, C, L) or (C, L) inputs."""
    _check_probability(p)
    ndim = input.dim()
    if ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {ndim}D input. Note that "
            "dropout1d exists to provide channel-wise dropout on inputs with 1 spatial dimension, "
            "a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
        )
    return _drop_channels(input, p, training, inplace, unbatched=ndim == 2)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole channels of (N, C, H, W) inputs."""
    _check_probability(p)
    ndim = input.dim()
    if ndim not in (3, 4):
        _warn_dimensions("dropout2d", ndim, 2)
    if ndim == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D "
            "dropout behavior is desired - input is interpreted as shape (N, C, L), where C is the "
            "channel dim. This behavior will change in a future release to interpret the input as "
            "one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise "
            "dropout behavior, please switch to using dropout1d instead.",
            stacklevel=2,
        )
    return _drop_channels(input, p, training, inplace)


def dropout3d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole channels of (N, C, D, H, W) or (C, D, H, W) inputs."""
    _check_probability(p)
    ndim = input.dim()
    if ndim not in (4, 5):
        _warn_dimensions("dropout3d", ndim, 3)
    return _drop_channels(input, p, training, inplace, unbatched=ndim != 5)


def _warn_dimensions(name, ndim, spatial):
    warnings.warn(
        f"{name}: Received a {ndim}-D input to {name}, which is deprecated and will result in an "
        "error in a future release. To retain the behavior and silence this warning, please use "
        f"dropout instead. Note that {name} exists to provide channel-wise dropout on inputs with "
        f"{spatial} spatial dimensions, a channel dimension, and an optional batch dimension "
        f"(i.e. {spatial + 1}D or {spatial + 2}D inputs).",
        stacklevel=3,
    )


def _drop_channels(input, p, training, inplace, unbatched=False):
    x = input.unsqueeze(0) if unbatched else input
    out = ops.feature_dropout_(x, p, training) if inplace else ops.feature_dropout(x, p, training)
    if not unbatched:
        return out
    return input if inplace else out.squeeze(0)
