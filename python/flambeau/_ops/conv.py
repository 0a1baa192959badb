"""Convolutions in one to three dimensions, and their transposes."""

from __future__ import annotations

from .samples import T
from .table import composite, decomp, native, op

GEOMETRY = "int[] stride, int[] padding, int[] dilation, int groups"

# The three directions of one bilinear map; each derivative of one is another.
op(
    f"conv_forward(Tensor self, Tensor weight, Tensor? bias, {GEOMETRY}) -> Tensor",
    kernel=native,
    grad={
        "self": "conv_input_grad(grad, weight, self.shape, stride, padding, dilation, groups)",
        "weight": "conv_weight_grad(grad, self, weight.shape, stride, padding, dilation, groups)",
        "bias": "channel_sum(grad)",
    },
    samples=[
        (T(1, 2, 5), T(3, 2, 3), T(3), (1,), (1,), (1,), 1),
        (T(2, 2, 4, 5), T(4, 1, 2, 3), None, (2, 1), (0, 1), (1, 2), 2),
    ],
    forms="",
    tags="internal",
)
op(
    f"conv_input_grad(Tensor grad_output, Tensor weight, int[] size, {GEOMETRY}) -> Tensor",
    kernel=native,
    grad={
        "grad_output": "cut_to(conv_forward(grad, weight, None, stride, padding, dilation, groups), grad_output.shape)",
        "weight": "conv_weight_grad(grad_output, grad, weight.shape, stride, padding, dilation, groups)",
    },
    forms="",
    tags="internal",
)
op(
    f"conv_weight_grad(Tensor grad_output, Tensor self, int[] size, {GEOMETRY}) -> Tensor",
    kernel=native,
    grad={
        "grad_output": "cut_to(conv_forward(self, grad, None, stride, padding, dilation, groups), grad_output.shape)",
        "self": "conv_input_grad(grad_output, grad, self.shape, stride, padding, dilation, groups)",
    },
    forms="",
    tags="internal",
)

op(
    "convolution(Tensor self, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups) -> Tensor",
    kernel=composite,
    example="""
        >>> x, w = flambeau.arange(4.0).reshape(1, 1, 4), flambeau.ones(1, 1, 2)
        >>> flambeau.convolution(x, w, None, [1], [0], [1], False, [0], 1)
        tensor([[[1., 3., 5.]]])
    """,
    forms="function",
    doc="Cross-correlation with a bank of filters, or its transpose.",
)
for _n in (1, 2, 3):
    _shape = {1: (2, 2, 6), 2: (2, 2, 5, 6), 3: (1, 2, 4, 4, 4)}[_n]
    _kernel = (3, 2) + (3,) * _n if _n < 3 else (3, 2, 2, 2, 2)
    op(
        f"conv{_n}d(Tensor self, Tensor weight, Tensor? bias=None, int[{_n}] stride=1, int[{_n}] padding=0, int[{_n}] dilation=1, int groups=1) -> Tensor",
        kernel=composite,
        samples=[(T(*_shape), T(*_kernel), T(3)), (T(*_shape), T(*_kernel), None, 2, 1)],
        forms="function",
        alias=f"nn.functional.conv{_n}d",
        tags="autocast:lower",
        doc=f"{_n}-d convolution of a batch (or one unbatched input) with ``weight``.",
    )
    op(
        f"conv{_n}d.padding(Tensor self, Tensor weight, Tensor? bias=None, int[{_n}] stride=1, str padding='valid', int[{_n}] dilation=1, int groups=1) -> Tensor",
        kernel=composite,
        samples=[(T(*_shape), T(*_kernel), None, 1, "same")],
        forms="function",
        tags="autocast:lower",
    )
    op(
        f"conv_transpose{_n}d(Tensor self, Tensor weight, Tensor? bias=None, int[{_n}] stride=1, int[{_n}] padding=0, int[{_n}] output_padding=0, int groups=1, int[{_n}] dilation=1) -> Tensor",
        kernel=composite,
        samples=[(T(*_shape), T(2, 3, *_kernel[2:]), T(3), 2)],
        forms="function",
        alias=f"nn.functional.conv_transpose{_n}d",
        tags="autocast:lower",
        doc=f"Transpose of the {_n}-d convolution: upsampling with ``weight``.",
    )
op(
    "conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor",
    kernel=decomp(
        "permute(conv1d(permute(self, (1, 2, 0)), permute(weight, (2, 1, 0)), bias, (1,), (pad,), (1,), 1),"
        " (2, 0, 1))"
    ),
    node="ConvTbcBackward0",
    samples=[(T(5, 2, 3), T(2, 3, 4), T(4), 1)],
    forms="function",
    alias="nn.functional.conv_tbc",
    tags="autocast:lower",
    doc="1-d convolution of sequences laid out as time, batch, channels; ``weight`` is (width, in, out).",
)
