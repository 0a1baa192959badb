"""Activation functions as modules."""

from __future__ import annotations

import warnings

from flambeau._C import ops
from flambeau.nn import functional as F
from flambeau.nn import init
from flambeau.nn.parameter import Parameter

from .module import Module

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


def _with_inplace(text, inplace):
    if not inplace:
        return text
    return f"{text}, inplace=True" if text else "inplace=True"


class Threshold(Module):
    """``value`` where an element does not exceed the threshold."""

    __constants__ = ["threshold", "value", "inplace"]

    def __init__(self, threshold, value, inplace=False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input):
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return _with_inplace(f"threshold={self.threshold}, value={self.value}", self.inplace)


class _InPlace(Module):
    """An activation whose only option is whether it overwrites its input."""

    __constants__ = ["inplace"]

    def __init__(self, inplace=False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return _with_inplace("", self.inplace)


class ReLU(_InPlace):
    """The larger of each element and zero.

    Example:
        >>> nn.ReLU()(flambeau.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """

    def forward(self, input):
        return F.relu(input, self.inplace)


class SELU(_InPlace):
    """The self-normalising exponential linear unit."""

    def forward(self, input):
        return F.selu(input, self.inplace)


class SiLU(_InPlace):
    """``x * sigmoid(x)``."""

    def forward(self, input):
        return F.silu(input, self.inplace)


class Mish(_InPlace):
    """``x * tanh(softplus(x))``."""

    def forward(self, input):
        return F.mish(input, self.inplace)


class Hardsigmoid(Module):
    """A sigmoid of three straight lines."""

    __constants__ = ["inplace"]

    def __init__(self, inplace=False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return F.hardsigmoid(input, self.inplace)


class Hardswish(Module):
    """``x * hardsigmoid(x)``."""

    __constants__ = ["inplace"]

    def __init__(self, inplace=False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return F.hardswish(input, self.inplace)


class RReLU(Module):
    """Negative elements times a slope, drawn from [lower, upper] in training, else its middle."""

    __constants__ = ["lower", "upper", "inplace"]

    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, inplace=False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return _with_inplace(f"lower={self.lower}, upper={self.upper}", self.inplace)


class Hardtanh(Module):
    """Elements limited to [min_val, max_val]; AssertionError where that is empty."""

    __constants__ = ["min_val", "max_val", "inplace"]

    def __init__(
        self, min_val=-1.0, max_val=1.0, inplace=False, min_value=None, max_value=None
    ) -> None:
        super().__init__()
        if min_value is not None:
            _warn_renamed("min_value", "min_val")
            min_val = min_value
        if max_value is not None:
            _warn_renamed("max_value", "max_val")
            max_val = max_value
        if not max_val > min_val:
            raise AssertionError(f"max_val ({max_val}) must be greater than min_val ({min_val})")
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace

    def forward(self, input):
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return _with_inplace(f"min_val={self.min_val}, max_val={self.max_val}", self.inplace)


def _warn_renamed(old, new):
    warnings.warn(
        f"keyword argument `{old}` is deprecated and renamed to `{new}`",
        FutureWarning,
        stacklevel=3,
    )


class ReLU6(Hardtanh):
    """Elements limited to [0, 6]."""

    def __init__(self, inplace=False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return _with_inplace("", self.inplace)


class Sigmoid(Module):
    """``1 / (1 + exp(-x))``."""

    def forward(self, input):
        return input.sigmoid()


class Tanh(Module):
    """Hyperbolic tangent."""

    def forward(self, input):
        return input.tanh()


class ELU(Module):
    """``alpha * (exp(x) - 1)`` below zero, x above."""

    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha=1.0, inplace=False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input):
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return _with_inplace(f"alpha={self.alpha}", self.inplace)


class CELU(Module):
    """``alpha * (exp(x / alpha) - 1)`` below zero, x above."""

    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha=1.0, inplace=False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input):
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return _with_inplace(f"alpha={self.alpha}", self.inplace)


class GLU(Module):
    """The first half along dim times the sigmoid of the second."""

    __constants__ = ["dim"]

    def __init__(self, dim=-1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class GELU(Module):
    """x times the normal distribution function of x; ``approximate="tanh"`` is faster."""

    __constants__ = ["approximate"]

    def __init__(self, approximate="none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input):
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Hardshrink(Module):
    """Zero inside [-lambd, lambd]."""

    __constants__ = ["lambd"]

    def __init__(self, lambd=0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input):
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class Softshrink(Module):
    """Moves elements towards zero by lambd."""

    __constants__ = ["lambd"]

    def __init__(self, lambd=0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input):
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class LeakyReLU(Module):
    """Negative elements times negative_slope."""

    __constants__ = ["inplace", "negative_slope"]

    def __init__(self, negative_slope=1e-2, inplace=False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input):
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return _with_inplace(f"negative_slope={self.negative_slope}", self.inplace)


class LogSigmoid(Module):
    """``log(sigmoid(x))``, without overflow."""

    def forward(self, input):
        return F.logsigmoid(input)


class Softplus(Module):
    """``log(1 + exp(beta x)) / beta``; linear above threshold."""

    __constants__ = ["beta", "threshold"]

    def __init__(self, beta=1.0, threshold=20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input):
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class PReLU(Module):
    """Negative elements times a learned slope.

    Args:
        num_parameters: 1, or a slope for each channel.
        init: the first value.
    """

    __constants__ = ["num_parameters"]

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(ops.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.constant_(self.weight, self.init)

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class Softsign(Module):
    """``x / (1 + |x|)``."""

    def forward(self, input):
        return F.softsign(input)


class Tanhshrink(Module):
    """``x - tanh(x)``."""

    def forward(self, input):
        return F.tanhshrink(input)


class _SoftmaxOver(Module):
    """An exponential normalisation along one dimension."""

    __constants__ = ["dim"]

    def __init__(self, dim=None) -> None:
        super().__init__()
        self.dim = dim

    def __setstate__(self, state):
        super().__setstate__(state)
        if not hasattr(self, "dim"):
            self.dim = None

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmin(_SoftmaxOver):
    """`Softmax` of the negative."""

    def forward(self, input):
        return F.softmin(input, self.dim, _stacklevel=5)


class Softmax(_SoftmaxOver):
    """``exp(x)`` divided by its sum along dim.

    Example:
        >>> nn.Softmax(dim=0)(flambeau.zeros(2))
        tensor([0.5000, 0.5000])
    """

    def forward(self, input):
        return F.softmax(input, self.dim, _stacklevel=5)


class LogSoftmax(_SoftmaxOver):
    """The logarithm of `Softmax`."""

    def forward(self, input):
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """`Softmax` over the channels of images."""

    def forward(self, input):
        if input.dim() not in (3, 4):
            raise ValueError(
                f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead"
            )
        return F.softmax(input, -3, _stacklevel=5)
