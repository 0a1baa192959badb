"""Pooling in one to three dimensions."""

from __future__ import annotations

from .samples import T
from .table import composite, native, op

# Kernels work on (N, C, D, H, W); the public operators add and drop dimensions.
op(
    "_max_pool(Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, int[3] dilation, bool ceil_mode) -> (Tensor output, Tensor indices)",
    kernel=native,
    grad={"self": "_place_in_plane(grads[0], results[1], self.shape)"},
    forms="",
    tags="internal flat_gradient",
)
op(
    "_max_pool_values(Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, int[3] dilation, bool ceil_mode) -> Tensor",
    kernel=native,
    grad={
        "self": "_place_in_plane(grad, second_of(_max_pool(self, kernel_size, stride, padding, dilation, ceil_mode)), self.shape)"
    },
    forms="",
    tags="internal",
    doc="The first result of ``_max_pool``, in half the time: for calls without a gradient.",
)
op(
    "_place_in_plane(Tensor grad_output, Tensor indices, int[] size) -> Tensor",
    kernel=native,
    grad={"grad_output": "take_in_plane(grad, indices)"},
    forms="",
    tags="internal",
)
op(
    "_avg_pool(Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, bool ceil_mode, bool count_include_pad, int divisor) -> Tensor",
    kernel=native,
    grad={
        "self": "_avg_pool_backward(grad, self.shape, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor)"
    },
    forms="",
    tags="internal flat_gradient",
)
op(
    "_avg_pool_backward(Tensor grad_output, int[] size, int[3] kernel_size, int[3] stride, int[3] padding, bool ceil_mode, bool count_include_pad, int divisor) -> Tensor",
    kernel=native,
    grad={
        "grad_output": "_avg_pool(grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor)"
    },
    forms="",
    tags="internal",
)
op(
    "_adaptive_avg_pool(Tensor self, int[3] output_size) -> Tensor",
    kernel=native,
    grad={"self": "_adaptive_avg_pool_backward(grad, self.shape)"},
    forms="",
    tags="internal flat_gradient",
)
op(
    "_adaptive_avg_pool_backward(Tensor grad_output, int[] size) -> Tensor",
    kernel=native,
    grad={"grad_output": "_adaptive_avg_pool(grad, inner_sizes(grad_output.shape))"},
    forms="",
    tags="internal",
)
op(
    "_adaptive_max_pool(Tensor self, int[3] output_size) -> (Tensor output, Tensor indices)",
    kernel=native,
    grad={"self": "_place_in_plane(grads[0], results[1], self.shape)"},
    forms="",
    tags="internal flat_gradient",
)

for _n in (1, 2, 3):
    _cast = "autocast:fp32" if _n == 3 else ""  # as PyTorch's list has it
    _x = {1: T(2, 2, 7), 2: T(2, 2, 5, 6), 3: T(1, 2, 4, 4, 4)}[_n]
    _pool = f"int[{_n}] kernel_size, int[{_n}]? stride=None, int[{_n}] padding=0"
    _name = f"max_pool{_n}d_with_indices"
    op(
        f"{_name}(Tensor self, {_pool}, int[{_n}] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
        kernel=composite,
        node=f"MaxPool{_n}DWithIndicesBackward0" if _n > 1 else "SqueezeBackward1",
        samples=[(_x, 2), (_x, 3, 1, 1)],
        forms="function",
        doc="Largest element of each window and its position in the input's plane.",
    )
    op(
        f"max_pool{_n}d(Tensor self, {_pool}, int[{_n}] dilation=1, bool ceil_mode=False) -> Tensor",
        kernel=composite,
        node=f"MaxPool{_n}DWithIndicesBackward0" if _n > 1 else "SqueezeBackward1",
        samples=[(_x, 2), (_x, 3, 2, 1)],
        forms="function",
        tags=_cast,
        doc="Largest element of each window.",
    )
    _divisor = "" if _n == 1 else ", int? divisor_override=None"
    op(
        f"avg_pool{_n}d(Tensor self, {_pool}, bool ceil_mode=False, bool count_include_pad=True{_divisor}) -> Tensor",
        kernel=composite,
        node=f"AvgPool{_n}DBackward0" if _n > 1 else "SqueezeBackward1",
        samples=[(_x, 2), (_x, 3, 2, 1)],
        forms="function",
        alias=f"nn.functional.avg_pool{_n}d",
        tags=_cast,
        doc="Mean of each window.",
    )
    op(
        f"adaptive_avg_pool{_n}d(Tensor self, int[{_n}] output_size) -> Tensor",
        kernel=composite,
        node=f"AdaptiveAvgPool{_n}DBackward0" if _n > 1 else "SqueezeBackward1",
        samples=[(_x, 2)],
        forms="function",
        tags=_cast,
        doc="Means of windows chosen so that the output has the given size.",
    )
    op(
        f"adaptive_max_pool{_n}d(Tensor self, int[{_n}] output_size) -> (Tensor, Tensor)",
        kernel=composite,
        node=f"AdaptiveMaxPool{_n}DBackward0" if _n > 1 else "SqueezeBackward1",
        samples=[(_x, 2)],
        forms="function",
        tags=_cast,
        doc="Largest elements, and their positions, of windows chosen by the output's size.",
    )

# ---- windows at random places
op(
    "_fractional_max_pool(Tensor self, int[3] kernel_size, int[3] output_size, Tensor random_samples) -> (Tensor output, Tensor indices)",
    kernel=native,
    grad={"self": "_place_in_plane(grads[0], results[1], self.shape)"},
    forms="",
    tags="internal flat_gradient",
)
for _n in (2, 3):
    op(
        f"fractional_max_pool{_n}d(Tensor self, int[{_n}] kernel_size, int[{_n}] output_size, Tensor random_samples) -> (Tensor, Tensor)",
        kernel=composite,
        samples=[(T(*(1, 2, *(5,) * _n)), 2, 3, T(1, 2, _n, low=0.1, high=0.9))],
        forms="",
        tags="autocast:fp32",
        doc="Largest elements, and their positions, of windows at pseudo-random distances that ``random_samples``,"
        " numbers in [0, 1) for each plane and dimension, decide.",
    )
