"""Convolutions and transposed convolutions over one, two or three dimensions."""

from __future__ import annotations

import math

from flambeau._C import Tensor, ops
from flambeau.nn import functional as F
from flambeau.nn import init
from flambeau.nn.parameter import Parameter, UninitializedParameter

from .lazy import LazyModuleMixin
from .module import Module, plain_getattr
from .utils import _pair, _reverse_repeat_tuple, _single, _triple

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    __constants__ = [
        "stride",
        "padding",
        "dilation",
        "groups",
        "padding_mode",
        "output_padding",
        "in_channels",
        "out_channels",
        "kernel_size",
    ]

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride,
        padding,
        dilation,
        transposed,
        output_padding,
        groups,
        bias,
        padding_mode,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        _check_options(in_channels, out_channels, groups, padding, stride, padding_mode)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        # The padding as F.pad takes it, for the modes that the operator does not know.
        if isinstance(padding, str):
            amounts = [0] * (2 * len(kernel_size))
            if padding == "same":
                for i, (d, k) in enumerate(zip(reversed(dilation), reversed(kernel_size))):
                    total = d * (k - 1)
                    amounts[2 * i] = total // 2
                    amounts[2 * i + 1] = total - total // 2
            self._reversed_padding_repeated_twice = amounts
        else:
            self._reversed_padding_repeated_twice = _reverse_repeat_tuple(padding, 2)
        if transposed:
            shape = (in_channels, out_channels // groups, *kernel_size)
        else:
            shape = (out_channels, in_channels // groups, *kernel_size)
        self.weight = Parameter(ops.empty(shape, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(ops.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        n = len(self.kernel_size)
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        )
        if self.padding != (0,) * n:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * n:
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * n:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text

    def _call_hint(self, input, output_size=None):
        if not isinstance(input, Tensor):
            return "Make a tensor of it: torch.tensor(data)."
        if input.dtype != self.weight.dtype:
            return f"Convert it: x.to({self.weight.dtype})."
        n = len(self.kernel_size)
        if input.dim() == n and self.in_channels == 1:
            return "The dimension of the channel is missing: x.unsqueeze(0)."
        if input.dim() not in (n + 1, n + 2) or input.shape[-n - 1] == self.in_channels:
            return None
        if input.shape[-1] == self.in_channels:
            last = input.dim() - 1
            order = [*range(last - n), last, *range(last - n, last)]
            return (
                f"The channels seem to come last; they belong before the {n} dimension"
                f"{'s' if n > 1 else ''} that the kernel moves along: "
                f"x.permute({', '.join(map(str, order))})."
            )
        if input.dim() == n + 1 and self.in_channels == 1:
            return "The dimension of the channel is missing: x.unsqueeze(1)."
        return None

    def __setstate__(self, state):
        super().__setstate__(state)
        if not hasattr(self, "padding_mode"):
            self.padding_mode = "zeros"

    def _members(self):
        """Weight and bias, without the cost of __getattr__ where they are parameters."""
        params = self._parameters
        if "weight" in params and "bias" in params and type(self).__getattr__ is plain_getattr:
            return params["weight"], params["bias"]
        return self.weight, self.bias


def _check_options(in_channels, out_channels, groups, padding, stride, padding_mode):
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups != 0:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups != 0:
        raise ValueError("out_channels must be divisible by groups")
    if isinstance(padding, str):
        if padding not in ("valid", "same"):
            raise ValueError(
                f"Invalid padding string {padding!r}, should be one of {{'valid', 'same'}}"
            )
        if padding == "same" and any(s != 1 for s in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if padding_mode not in _PADDING_MODES:
        raise ValueError(
            f"padding_mode must be one of {set(_PADDING_MODES)}, but got {padding_mode=}"
        )


class _PlainConv(_ConvNd):
    """What the three convolutions share; `_sizes` and `_operator` make the difference."""

    _sizes = staticmethod(_single)
    _operator = "conv1d"

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        bias=True,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ) -> None:
        sizes = self._sizes
        super().__init__(
            in_channels,
            out_channels,
            sizes(kernel_size),
            sizes(stride),
            padding if isinstance(padding, str) else sizes(padding),
            sizes(dilation),
            False,
            sizes(0),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _conv_forward(self, input, weight, bias):
        conv = getattr(F, self._operator)
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = self._sizes(0)
        return conv(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input):
        weight, bias = self._members()
        return self._conv_forward(input, weight, bias)


class Conv1d(_PlainConv):
    """Convolution of (N, C, L) or (C, L).

    Args:
        in_channels, out_channels: channels of input and output.
        kernel_size, stride, dilation: a number, or one a dimension.
        padding: the same, or ``"valid"`` or ``"same"``.
        groups: parts into which the channels are split, each with its own kernels.
        padding_mode: zeros, reflect, replicate or circular.

    Raises:
        ValueError: groups do not divide the channels, or an option is unknown.
    """


class Conv2d(_PlainConv):
    """Convolution of (N, C, H, W) or (C, H, W); arguments as `Conv1d`.

    Example:
        >>> nn.Conv2d(3, 8, 3, padding=1)(flambeau.ones(1, 3, 5, 5)).shape
        torch.Size([1, 8, 5, 5])
    """

    _sizes = staticmethod(_pair)
    _operator = "conv2d"


class Conv3d(_PlainConv):
    """Convolution of (N, C, D, H, W) or (C, D, H, W); arguments as `Conv1d`."""

    _sizes = staticmethod(_triple)
    _operator = "conv3d"


class _ConvTransposeNd(_ConvNd):
    """What the three transposed convolutions share; `_sizes` and `_operator` differ."""

    _sizes = staticmethod(_single)
    _operator = "conv_transpose1d"

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        groups=1,
        bias=True,
        dilation=1,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        sizes = self._sizes
        super().__init__(
            in_channels,
            out_channels,
            sizes(kernel_size),
            sizes(stride),
            sizes(padding),
            sizes(dilation),
            True,
            sizes(output_padding),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input, output_size=None):
        weight, bias = self._members()
        conv = getattr(F, self._operator)
        extra = self._output_padding(
            input,
            output_size,
            self.stride,
            self.padding,
            self.kernel_size,
            len(self.kernel_size),
            self.dilation,
        )
        return conv(
            input, weight, bias, self.stride, self.padding, extra, self.groups, self.dilation
        )

    def _output_padding(
        self, input, output_size, stride, padding, kernel_size, num_spatial_dims, dilation=None
    ):
        """What must be added at the end for the result to have the size asked for."""
        if output_size is None:
            return self.output_padding
        n = num_spatial_dims
        dilation = (1,) * n if dilation is None else dilation
        batched = input.dim() == n + 2
        spatial = n + 2 if batched else n + 1
        output_size = list(output_size)
        if len(output_size) == spatial:
            output_size = output_size[-n:]
        if len(output_size) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have {n} or "
                f"{spatial} elements (got {len(output_size)})"
            )
        low, high = [], []
        for d in range(n):
            size = (
                (input.size(d - n) - 1) * stride[d]
                - 2 * padding[d]
                + dilation[d] * (kernel_size[d] - 1)
                + 1
            )
            low.append(size)
            high.append(size + stride[d] - 1)
        if not all(a <= s <= b for a, s, b in zip(low, output_size, high)):
            raise ValueError(
                f"requested an output size of {tuple(output_size)}, but valid sizes range from "
                f"{low} to {high} (for an input of {input.size()[-n:]})"
            )
        return [s - a for s, a in zip(output_size, low)]


class ConvTranspose1d(_ConvTransposeNd):
    """The transpose (gradient) of `Conv1d`, used to enlarge.

    Args:
        output_padding: added to one side of the result, where strides leave its size open.

    The call takes ``output_size`` instead.
    """


class ConvTranspose2d(_ConvTransposeNd):
    """The transpose of `Conv2d`; arguments as `ConvTranspose1d`."""

    _sizes = staticmethod(_pair)
    _operator = "conv_transpose2d"


class ConvTranspose3d(_ConvTransposeNd):
    """The transpose of `Conv3d`; arguments as `ConvTranspose1d`."""

    _sizes = staticmethod(_triple)
    _operator = "conv_transpose3d"


class _LazyConv(LazyModuleMixin):
    """Beside a convolution: takes in_channels from the first input."""

    def __init__(self, out_channels, kernel_size, *args, bias, device, dtype, **kwargs) -> None:
        # The base is made without channels and bias: no shape is known, and nothing is drawn.
        super().__init__(0, 0, kernel_size, *args, bias=False, **kwargs)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input, *args, **kwargs) -> None:
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._get_in_channels(input)
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if self.transposed:
            shape = (self.in_channels, self.out_channels // self.groups, *self.kernel_size)
        else:
            shape = (self.out_channels, self.in_channels // self.groups, *self.kernel_size)
        self.weight.materialize(shape)
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _get_num_spatial_dims(self):
        return len(self.kernel_size)

    def _get_in_channels(self, input):
        n = self._get_num_spatial_dims()
        if input.dim() not in (n + 1, n + 2):
            raise RuntimeError(
                f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )
        return input.shape[-n - 1]


class _LazyPlainConv(_LazyConv):
    def __init__(
        self,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        bias=True,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ) -> None:
        options = {"groups": groups, "padding_mode": padding_mode}
        members = {"bias": bias, "device": device, "dtype": dtype}
        super().__init__(out_channels, kernel_size, stride, padding, dilation, **options, **members)


class _LazyConvTranspose(_LazyConv):
    def __init__(
        self,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        groups=1,
        bias=True,
        dilation=1,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ) -> None:
        options = {"groups": groups, "dilation": dilation, "padding_mode": padding_mode}
        members = {"bias": bias, "device": device, "dtype": dtype}
        super().__init__(
            out_channels, kernel_size, stride, padding, output_padding, **options, **members
        )


class LazyConv1d(_LazyPlainConv, Conv1d):  # type: ignore[misc]
    """A `Conv1d` that takes in_channels from its first input; the other arguments are the same.

    Raises:
        RuntimeError: the first input has another number of dimensions.
        ValueError: groups do not divide its channels.

    Example:
        >>> layer = nn.LazyConv1d(4, 3)
        >>> layer(flambeau.ones(2, 5, 8)).shape, layer.in_channels
        (torch.Size([2, 4, 6]), 5)
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyPlainConv, Conv2d):  # type: ignore[misc]
    """A `Conv2d` that takes in_channels from its first input; see `LazyConv1d`."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyPlainConv, Conv3d):  # type: ignore[misc]
    """A `Conv3d` that takes in_channels from its first input; see `LazyConv1d`."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):  # type: ignore[misc]
    """A `ConvTranspose1d` that takes in_channels from its first input; see `LazyConv1d`."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):  # type: ignore[misc]
    """A `ConvTranspose2d` that takes in_channels from its first input; see `LazyConv1d`."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):  # type: ignore[misc]
    """A `ConvTranspose3d` that takes in_channels from its first input; see `LazyConv1d`."""

    cls_to_become = ConvTranspose3d
