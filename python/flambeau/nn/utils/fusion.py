"""A layer and the batch normalisation after it as one layer, for evaluation."""

from __future__ import annotations

import copy
from typing import TypeVar

from flambeau._C import ops
from flambeau.nn.modules.module import Module
from flambeau.nn.parameter import Parameter

__all__ = [
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
]

ConvT = TypeVar("ConvT", bound=Module)
LinearT = TypeVar("LinearT", bound=Module)


def _check(layer, bn):
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("Expected bn.running_mean and bn.running_var to be set")


def fuse_conv_bn_eval(conv: ConvT, bn: Module, transpose: bool = False) -> ConvT:
    """One convolution that does what conv and then bn do, both in evaluation mode.

    Args:
        transpose: whether conv is a transposed convolution.

    >>> conv, bn, x = nn.Conv1d(2, 3, 2).eval(), nn.BatchNorm1d(3).eval(), flambeau.ones(1, 2, 4)
    >>> flambeau.allclose(fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-6)
    True
    """
    _check(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight,
        fused.bias,
        bn.running_mean,
        bn.running_var,
        bn.eps,
        bn.weight,
        bn.bias,
        transpose,
    )
    return fused


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    """Weight and bias of the convolution that `fuse_conv_bn_eval` makes.

    Args:
        conv_w, conv_b: weight and bias of the convolution; the bias may be None.
        bn_rm, bn_rv, bn_eps: mean, variance and what is added to it.
        bn_w, bn_b: scale and shift, or None.
        transpose: whether the outputs are the weight's second dimension.
    """
    scale = ops.rsqrt(bn_rv + bn_eps)
    if bn_w is not None:
        scale = scale * bn_w
    shift = -bn_rm if conv_b is None else conv_b - bn_rm
    bias = shift * scale
    if bn_b is not None:
        bias = bias + bn_b
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    weight = (conv_w * scale.reshape(shape)).to(dtype=conv_w.dtype)
    bias = bias.to(dtype=conv_w.dtype if conv_b is None else conv_b.dtype)
    return (
        Parameter(weight, conv_w.requires_grad),
        Parameter(bias, conv_w.requires_grad if conv_b is None else conv_b.requires_grad),
    )


def fuse_linear_bn_eval(linear: LinearT, bn: Module) -> LinearT:
    """One linear layer that does what linear and then bn do, both in evaluation mode.

    Raises:
        AssertionError: a module is in training mode, or the numbers of features differ and bn's is
            not 1.
    """
    _check(linear, bn)
    if bn.num_features not in (linear.out_features, 1):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """Weight and bias of the layer that `fuse_linear_bn_eval` makes; arguments as
    `fuse_conv_bn_weights`."""
    scale = bn_w * ops.rsqrt(bn_rv + bn_eps)
    shift = -bn_rm if linear_b is None else linear_b - bn_rm
    weight = (linear_w * scale.unsqueeze(-1)).to(dtype=linear_w.dtype)
    bias = (shift * scale + bn_b).to(dtype=linear_w.dtype if linear_b is None else linear_b.dtype)
    return (
        Parameter(weight, linear_w.requires_grad),
        Parameter(bias, linear_w.requires_grad if linear_b is None else linear_b.requires_grad),
    )
