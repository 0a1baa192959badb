"""Normalisation layers: fused forward and backward kernels."""

from __future__ import annotations

from .samples import T
from .table import composite, native, op

TRIPLE = "(Tensor, Tensor, Tensor)"
INTERNAL = {"forms": "", "tags": "internal unread_output"}

op(
    "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var,"
    " bool training, float momentum, float eps, bool cudnn_enabled=False) -> Tensor",
    kernel=composite,
    node="NativeBatchNormBackward0",
    samples=[(T(4, 3), T(3), T(3), None, None, True, 0.1, 1e-5)],
    forms="function",
    doc="Each channel shifted and scaled to mean 0 and variance 1, then by ``weight`` and ``bias``."
    " In training the running statistics move towards the batch's by ``momentum``.",
)
op(
    f"_batch_norm(Tensor input, Tensor? weight, Tensor? bias, float eps) -> {TRIPLE}",
    kernel=native,
    node="NativeBatchNormBackward0",
    grad={
        "input": "batch_norm_grad(grads, input, weight, results, eps)",
        "weight": "batch_norm_weight_grad(grads, input, results, eps)",
        "bias": "channel_sum(grads[0])",
    },
    samples=[(T(4, 3), T(3), T(3), 1e-5), (T(2, 3, 4), None, None, 1e-5)],
    doc="Result, mean and variance of each channel.",
    **INTERNAL,
)
op(
    "_batch_norm_backward(Tensor grad_output, Tensor input, Tensor? weight, Tensor mean, Tensor var, float eps) -> Tensor",
    kernel=native,
    **INTERNAL,
)
op(
    "_channel_products(Tensor grad_output, Tensor input, Tensor mean) -> Tensor",
    kernel=native,
    doc="For each channel the sum of ``grad_output * (input - mean)``.",
    **INTERNAL,
)
op(
    "_channel_affine(Tensor self, Tensor scale, Tensor shift) -> Tensor",
    kernel=native,
    grad={
        "self": "grad * channel_view(scale, self.ndim)",
        "scale": "channel_sum(grad * self)",
        "shift": "channel_sum(grad)",
    },
    samples=[(T(4, 3), T(3), T(3)), (T(2, 3, 4), T(3), T(3))],
    **INTERNAL,
)
op(
    "instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var,"
    " bool use_input_stats, float momentum, float eps, bool cudnn_enabled=False) -> Tensor",
    kernel=composite,
    samples=[(T(2, 3, 4), T(3), T(3), None, None, True, 0.1, 1e-5)],
    forms="function",
    doc="`batch_norm` of each sample by itself.",
)
op(
    f"native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> {TRIPLE}",
    kernel=native,
    grad={
        "input": "layer_norm_grad(grads, input, normalized_shape, weight, results, eps)",
        "weight": "layer_norm_weight_grad(grads, input, normalized_shape, results, eps)",
        "bias": "leading_sum(grads[0], normalized_shape)",
    },
    samples=[(T(2, 3), (3,), T(3), T(3), 1e-5)],
    forms="function",
    tags="unread_output",
    doc="Result, mean and reciprocal standard deviation.",
)
op(
    "layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05,"
    " bool cudnn_enable=True) -> Tensor",
    kernel=composite,
    samples=[(T(2, 3), (3,), T(3), T(3)), (T(2, 3, 4), (3, 4))],
    forms="function",
    doc="The trailing dimensions shifted and scaled to mean 0 and variance 1, then by ``weight`` and ``bias``.",
)
op(
    "_layer_norm_backward(Tensor grad_output, Tensor input, int[] normalized_shape, Tensor? mean, Tensor rstd, Tensor? weight) -> Tensor",
    kernel=native,
    **INTERNAL,
)
op(
    "_layer_norm_weight(Tensor grad_output, Tensor input, int[] normalized_shape, Tensor? mean, Tensor rstd) -> Tensor",
    kernel=native,
    **INTERNAL,
)
op(
    "rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
    kernel=composite,
    samples=[(T(2, 3), (3,), T(3))],
    forms="function",
    doc="The trailing dimensions divided by the root of their mean square, times ``weight``.",
)
op(
    "_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float eps) -> (Tensor, Tensor)",
    kernel=native,
    node="MulBackward0",
    grad={
        "input": "rms_norm_grad(grads[0], input, normalized_shape, weight, results[1], eps)",
        "weight": "rms_norm_weight_grad(grads[0], input, normalized_shape, results[1], eps)",
    },
    samples=[(T(2, 3), (3,), T(3), 1e-5)],
    **INTERNAL,
)
op(
    "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05,"
    " bool cudnn_enabled=True) -> Tensor",
    kernel=composite,
    samples=[(T(2, 4, 3), 2, T(4), T(4))],
    forms="function",
    doc="Groups of channels of each sample shifted and scaled to mean 0 and variance 1, then each channel by"
    " ``weight`` and ``bias``.",
)
op(
    "_group_norm_weight(Tensor grad_output, Tensor input, Tensor mean, Tensor rstd) -> Tensor",
    kernel=native,
    **INTERNAL,
)
op(
    f"_group_norm(Tensor input, int num_groups, Tensor? weight, Tensor? bias, float eps) -> {TRIPLE}",
    kernel=native,
    node="NativeGroupNormBackward0",
    grad={
        "input": "group_norm_grad(grads, input, num_groups, weight, results, eps)",
        "weight": "group_norm_weight_grad(grads, input, num_groups, results, eps)",
        "bias": "channel_sum(grads[0])",
    },
    samples=[(T(2, 4, 3), 2, T(4), T(4), 1e-5)],
    **INTERNAL,
)
op(
    "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var,"
    f" bool training, float momentum, float eps) -> {TRIPLE}",
    kernel=composite,
    samples=[(T(4, 3), T(3), T(3), None, None, True, 0.1, 1e-5)],
    forms="function",
    doc="`batch_norm`, and in training the batch's mean and reciprocal standard deviation of each channel.",
)
op(
    f"native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int group, float eps) -> {TRIPLE}",
    kernel=composite,
    samples=[(T(2, 4, 3), T(4), T(4), 2, 4, 3, 2, 1e-5)],
    forms="function",
    doc="`group_norm`, and each group's mean and reciprocal standard deviation.",
)
