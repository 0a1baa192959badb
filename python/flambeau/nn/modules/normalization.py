"""Layer, group, root-mean-square and local response normalisation."""

from __future__ import annotations

import numbers

from flambeau._C import ops
from flambeau.nn import functional as F
from flambeau.nn import init
from flambeau.nn.parameter import Parameter

from .module import Module, plain_getattr

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


def _shape(normalized_shape):
    if isinstance(normalized_shape, numbers.Integral):
        return (normalized_shape,)
    return tuple(normalized_shape)


class LocalResponseNorm(Module):
    """Each element divided by a power of the mean of squares over neighbouring channels."""

    __constants__ = ["size", "alpha", "beta", "k"]

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input):
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """`LocalResponseNorm` of images, with the window as Torch 7 placed it."""

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input):
        # The window reaches (size - 1) // 2 channels to both sides, and the sum over it is always
        # divided by size. The first channel never leaves the window: as PyTorch computes it.
        reach = (self.size - 1) // 2
        n, c = input.shape[:2]
        squares = input * input
        padded = F.pad(squares.reshape(n, 1, c, -1), [0, 0, reach, reach])
        sums = F.avg_pool2d(padded, [2 * reach + 1, 1], 1, divisor_override=1)
        sums = sums.reshape(input.shape)
        if c > reach + 1:
            later = sums[:, reach + 1 :] + squares[:, :1]
            sums = ops.cat([sums[:, : reach + 1], later], 1)
        scale = sums * (self.alpha / self.size) + self.k
        return input * scale.pow(-self.beta)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LayerNorm(Module):
    """Normalises over the last dimensions.

    Args:
        normalized_shape: sizes of those dimensions, or the size of the last one.
        eps: added to the variance.
        elementwise_affine: whether there are a learned scale and shift.
        bias: whether there is a shift.

    Example:
        >>> nn.LayerNorm(3)(flambeau.tensor([1.0, 2.0, 3.0])).detach()
        tensor([-1.2247,  0.0000,  1.2247])
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(
        self,
        normalized_shape,
        eps=1e-5,
        elementwise_affine=True,
        bias=True,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        options = {"device": device, "dtype": dtype}
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        shape = self.normalized_shape
        affine = elementwise_affine
        scale = Parameter(ops.empty(shape, **options)) if affine else None
        shift = Parameter(ops.empty(shape, **options)) if affine and bias else None
        self.register_parameter("weight", scale)
        self.register_parameter("bias", shift)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.elementwise_affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input):
        params = self._parameters
        if "weight" in params and "bias" in params and type(self).__getattr__ is plain_getattr:
            weight, bias = params["weight"], params["bias"]
        else:
            weight, bias = self.weight, self.bias
        return F.layer_norm(input, self.normalized_shape, weight, bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class GroupNorm(Module):
    """Normalises over groups of channels.

    Args:
        num_groups: groups that the channels are split into.
        num_channels: channels of the input.
        eps: added to the variance.
        affine: whether there are a learned scale and shift.
        bias: whether there is a shift.

    Raises:
        ValueError: num_groups does not divide num_channels.
    """

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]

    def __init__(
        self,
        num_groups,
        num_channels,
        eps=1e-5,
        affine=True,
        device=None,
        dtype=None,
        *,
        bias=True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        options = {"device": device, "dtype": dtype}
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        scale = Parameter(ops.empty(num_channels, **options)) if affine else None
        shift = Parameter(ops.empty(num_channels, **options)) if affine and bias else None
        self.register_parameter("weight", scale)
        self.register_parameter("bias", shift)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divides by the root of the mean square over the last dimensions.

    Args:
        normalized_shape: sizes of those dimensions, or the size of the last one.
        eps: added to the mean square; the smallest step of the dtype if None.
        elementwise_affine: whether there is a learned scale.
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(
        self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        if elementwise_affine:
            shape = self.normalized_shape
            self.weight = Parameter(ops.empty(shape, device=device, dtype=dtype))
        else:
            self.register_parameter("weight", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, x):
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )
