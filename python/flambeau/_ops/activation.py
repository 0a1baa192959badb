"""Activation functions."""

from __future__ import annotations

from .samples import binary, unary
from .table import decomp, op, pointwise

BOTH = "function inplace"
MODULE = BOTH + " function_"

op(
    "relu(Tensor self) -> Tensor",
    kernel=pointwise("maximum(x, 0)"),
    on="bif",
    grad={"self": "threshold_backward(grad, result, 0)"},
    samples=unary(),
    ref="numpy.maximum(self, 0)",
    forms="function method inplace function_",
    doc="The larger of each element and zero.",
)
op(
    "threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor",
    kernel=pointwise("0 if y <= threshold else x"),
    on="if",
    grad={"grad_output": "threshold_backward(grad, self, threshold)", "self": "zeros_like(grad)"},
    samples=[],
    forms="",
    tags="internal",
)
op(
    "threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor",
    kernel=pointwise("value if x <= threshold else x"),
    example="""
        >>> flambeau.threshold(flambeau.tensor([0.5, 1.5]), 1.0, -1.0)
        tensor([-1.0000,  1.5000])
    """,
    on="if",
    grad={"self": "threshold_backward(grad, self, threshold)"},
    samples=[],
    forms=MODULE,
    doc="``value`` where an element does not exceed ``threshold``.",
)
op(
    "hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
    kernel=pointwise("minimum(maximum(x, min_val), max_val)"),
    on="if",
    grad={"self": "masked(grad, logical_and(gt(self, min_val), lt(self, max_val)))"},
    samples=unary(),
    ref="numpy.clip(self, -1, 1)",
    forms="inplace",
    tags="bounds flat_gradient",
    doc="Limits elements to [min_val, max_val].",
)
op(
    "hardsigmoid(Tensor self) -> Tensor",
    kernel=pointwise("minimum(maximum(x + 3, 0), 6) / 6"),
    on="f",
    grad={"self": "masked(grad / 6, logical_and(gt(self, -3), lt(self, 3)))"},
    samples=unary(),
    ref="numpy.clip(self + 3, 0, 6) / 6",
    forms="inplace",
    tags="flat_gradient",
    doc="Piecewise linear sigmoid.",
)
op(
    "hardswish(Tensor self) -> Tensor",
    kernel=pointwise("x * minimum(maximum(x + 3, 0), 6) / 6"),
    on="f",
    grad={"self": "hardswish_backward(grad, self)"},
    samples=unary(),
    ref="self * numpy.clip(self + 3, 0, 6) / 6",
    forms="inplace",
    doc="``x * hardsigmoid(x)``.",
)
op(
    "hardswish_backward(Tensor grad_output, Tensor self) -> Tensor",
    kernel=pointwise("x if y >= 3 else (0 if y <= -3 else x * (y / 3 + 0.5))"),
    on="f",
    grad={
        "grad_output": "hardswish_backward(grad, self)",
        "self": "masked(grad * grad_output / 3, lt(abs(self), 3))",
    },
    samples=binary(),
    forms="",
    tags="internal",
)
op(
    "leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
    kernel=pointwise("x if x > 0 else x * negative_slope"),
    on="f",
    grad={"self": "leaky_relu_backward(grad, self, negative_slope)"},
    samples=unary(),
    ref="numpy.where(self > 0, self, self * 0.01)",
    forms="inplace",
    doc="Negative elements times ``negative_slope``.",
)
op(
    "leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope) -> Tensor",
    kernel=pointwise("x if y > 0 else x * negative_slope"),
    on="f",
    grad={
        "grad_output": "leaky_relu_backward(grad, self, negative_slope)",
        "self": "zeros_like(grad)",
    },
    samples=[],
    forms="",
    tags="internal",
)
op(
    "elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
    kernel=pointwise("x * scale if x > 0 else expm1(x * input_scale) * alpha * scale"),
    on="f",
    grad={"self": "elu_grad(grad, self, alpha, scale, input_scale)"},
    samples=unary(),
    ref="numpy.where(self > 0, self, numpy.expm1(self))",
    forms="inplace",
    tags="cost:20",
    doc="Exponential linear unit (Clevert et al. 2015).",
)
op(
    "selu(Tensor self) -> Tensor",
    kernel=decomp(
        "elu(self, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1)"
    ),
    samples=unary(),
    forms=MODULE,
    doc="Self-normalising linear unit (Klambauer et al. 2017).",
)
op(
    "celu(Tensor self, Scalar alpha=1) -> Tensor",
    kernel=decomp("celu_of(self, alpha)"),
    node="CeluBackward0",
    samples=unary(),
    forms=MODULE,
    doc="Continuously differentiable exponential linear unit.",
)
op(
    "gelu(Tensor self, *, str approximate='none') -> Tensor",
    kernel=decomp("gelu_of(self, approximate)"),
    samples=unary(),
    forms="",
    doc="Gaussian error linear unit (Hendrycks & Gimpel 2016).",
)
op(
    "_gelu(Tensor self) -> Tensor",
    kernel=pointwise("gelu_exact(x)"),
    on="f",
    grad={"self": "gelu_backward(grad, self)"},
    samples=unary(),
    ref="self * 0.5 * (1 + scipy.special.erf(self * 0.7071067811865476))",
    forms="",
    tags="internal cost:20",
)
op(
    "gelu_backward(Tensor grad_output, Tensor self) -> Tensor",
    kernel=pointwise("x * gelu_slope(y)"),
    on="f",
    grad={
        "grad_output": "gelu_backward(grad, self)",
        "self": "grad * grad_output * exp(self * self * -0.5) * 0.39894228040143267794 * (2 - self * self)",
    },
    samples=binary(),
    forms="",
    tags="internal cost:30",
)
op(
    "_gelu_tanh(Tensor self) -> Tensor",
    kernel=pointwise("gelu_tanh(x)"),
    node="GeluBackward0",
    on="f",
    grad={"self": "gelu_tanh_backward(grad, self)"},
    samples=unary(),
    ref="self * 0.5 * (1 + numpy.tanh(0.7978845608028654 * (self + 0.044715 * self ** 3)))",
    forms="",
    tags="internal cost:24",
)
op(
    "gelu_tanh_backward(Tensor grad_output, Tensor self) -> Tensor",
    kernel=decomp("gelu_tanh_grad(grad_output, self)"),
    forms="",
    tags="internal",
)
op(
    "silu(Tensor self) -> Tensor",
    kernel=pointwise("x * sigmoid(x)"),
    on="fc",
    grad={"self": "silu_backward(grad, self)"},
    samples=unary(),
    ref="self / (1 + numpy.exp(-self))",
    forms="inplace",
    tags="cost:18",
    doc="``x * sigmoid(x)``.",
)
op(
    "silu_backward(Tensor grad_output, Tensor self) -> Tensor",
    kernel=pointwise("x * conj(sigmoid(y) * (1 + y * (1 - sigmoid(y))))"),
    on="fc",
    grad={
        "grad_output": "conj(silu_backward(conj(grad), self))",
        "self": "silu_grad_grad(grad, grad_output, self)",
    },
    samples=binary(),
    forms="",
    tags="internal cost:20",
)
op(
    "mish(Tensor self) -> Tensor",
    kernel=pointwise("x * tanh(log1p(exp(x)) if x < 20 else x)"),
    on="f",
    grad={"self": "mish_grad(grad, self)"},
    samples=unary(),
    ref="self * numpy.tanh(numpy.log1p(numpy.exp(self)))",
    forms="inplace",
    tags="cost:40",
    doc="``x * tanh(softplus(x))`` (Misra 2019).",
)
op(
    "softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
    kernel=pointwise("x if x * beta > threshold else log1p(exp(x * beta)) / beta"),
    on="f",
    grad={"self": "softplus_backward(grad, self, beta, threshold)"},
    samples=unary(),
    ref="numpy.log1p(numpy.exp(self))",
    forms="",
    tags="cost:30",
    doc="``log(1 + exp(beta x)) / beta``; linear above ``threshold``.",
)
op(
    "softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor",
    kernel=pointwise("x if y * beta > threshold else x * sigmoid(y * beta)"),
    on="f",
    grad={
        "grad_output": "softplus_backward(grad, self, beta, threshold)",
        "self": "masked(grad * grad_output * sigmoid(self * beta) * (1 - sigmoid(self * beta)) * beta, le(self * beta, threshold))",
    },
    samples=[],
    forms="",
    tags="internal",
)
op(
    "log_sigmoid(Tensor self) -> Tensor",
    kernel=pointwise("minimum(x, 0) - log1p(exp(-abs(x)))"),
    on="f",
    grad={"self": "grad * sigmoid(-self)"},
    samples=unary(),
    ref="-numpy.log1p(numpy.exp(-self))",
    forms="",
    alias="nn.functional.logsigmoid",
    tags="cost:30",
    doc="``log(sigmoid(x))``, without overflow.",
)
op(
    "softshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
    kernel=pointwise("x - lambd if x > lambd else (x + lambd if x < -lambd else x * 0)"),
    on="f",
    grad={"self": "masked(grad, logical_or(gt(self, lambd), lt(self, -lambd)))"},
    samples=unary(),
    forms="",
    tags="flat_gradient",
    doc="Moves elements towards zero by ``lambd``.",
)
op(
    "hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
    kernel=pointwise("0 if x >= -lambd and x <= lambd else x"),
    on="f",
    grad={"self": "masked(grad, logical_or(gt(self, lambd), lt(self, -lambd)))"},
    samples=unary(),
    forms="function method",
    tags="flat_gradient",
    doc="Zero inside [-lambd, lambd].",
)
op(
    "prelu(Tensor self, Tensor weight) -> Tensor",
    kernel=decomp("prelu_of(self, weight)"),
    example="""
        >>> flambeau.prelu(flambeau.tensor([-2.0, 3.0]), flambeau.tensor([0.25]))
        tensor([-0.5000,  3.0000])
    """,
    samples=[],
    forms="function method",
    tags="autocast:lower",
    doc="Negative elements times a learned slope, one for all or one a channel.",
)
op(
    "_prelu(Tensor self, Tensor weight) -> Tensor",
    kernel=pointwise("x if x > 0 else y * x"),
    node="PreluKernelBackward0",
    on="f",
    grad={
        "self": "_where(gt(self, 0), grad, grad * weight)",
        "weight": "masked(grad * self, le(self, 0))",
    },
    samples=binary(),
    forms="",
    tags="internal flat_gradient",
)
op(
    "glu(Tensor self, int dim=-1) -> Tensor",
    kernel=decomp("glu_of(self, dim)"),
    node="GluBackward0",
    example="""
        >>> flambeau.nn.functional.glu(flambeau.tensor([1.0, 2.0, 0.0, 1.0]))
        tensor([0.5000, 1.4621])
    """,
    samples=[],
    forms="",
    doc="First half along ``dim`` times the sigmoid of the second.",
)
