"""The gradients of convolutions as functions."""

from __future__ import annotations

from flambeau import autograd
from flambeau._C import is_grad_enabled, ops

from ._functional_common import _pair, _single, _triple

_TUPLES = (_single, _pair, _triple)
_CONVOLUTIONS = (ops.conv1d, ops.conv2d, ops.conv3d)
_TRANSPOSED = (ops.conv_transpose1d, ops.conv_transpose2d, ops.conv_transpose3d)


def _of_input(n, input_size, weight, grad_output, stride, padding, dilation, groups):
    spread = _TUPLES[n - 1]
    stride, padding, dilation = spread(stride), spread(padding), spread(dilation)
    # What the transposed convolution lacks, where the window did not reach the end of the input.
    missing = []
    for i in range(n):
        reach = (grad_output.shape[i - n] - 1) * stride[i] - 2 * padding[i]
        missing.append(input_size[i - n] - (reach + dilation[i] * (weight.shape[i - n] - 1) + 1))
    return _TRANSPOSED[n - 1](grad_output, weight, None, stride, padding, missing, groups, dilation)


def _of_weight(n, input, weight_size, grad_output, stride, padding, dilation, groups):
    with autograd.enable_grad():
        weight = ops.zeros(
            tuple(weight_size), dtype=input.dtype, device=input.device, requires_grad=True
        )
        out = _CONVOLUTIONS[n - 1](input, weight, None, stride, padding, dilation, groups)
    again = is_grad_enabled() and (input.requires_grad or grad_output.requires_grad)
    (grad,) = autograd.grad(out, weight, grad_output, create_graph=again)
    return grad


def conv1d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of `conv1d` for its input.

    Args:
        input_size: shape of the input.
        weight: the kernel.
        grad_output: gradient of the output.

    >>> conv1d_input((1, 1, 3), flambeau.ones(1, 1, 2), flambeau.ones(1, 1, 2))
    tensor([[[1., 2., 1.]]])
    """
    return _of_input(1, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of `conv1d` for its weight.

    Args:
        input: the input.
        weight_size: shape of the kernel.
        grad_output: gradient of the output.

    >>> conv1d_weight(flambeau.ones(1, 1, 3), (1, 1, 2), flambeau.ones(1, 1, 2))
    tensor([[[2., 2.]]])
    """
    return _of_weight(1, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of `conv2d` for its input; arguments as `conv1d_input`."""
    return _of_input(2, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of `conv2d` for its weight; arguments as `conv1d_weight`."""
    return _of_weight(2, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv3d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of `conv3d` for its input; arguments as `conv1d_input`."""
    return _of_input(3, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of `conv3d` for its weight; arguments as `conv1d_weight`."""
    return _of_weight(3, input, weight_size, grad_output, stride, padding, dilation, groups)
