"""Arithmetic and elementary functions, element by element."""

from __future__ import annotations

from .samples import binary, ternary, unary
from .table import decomp, op, pointwise

ALL = "function method inplace out"
# `function_`: PyTorch has the in-place form as a function of the module as well.
MODULE = ALL + " function_"


def elementary(
    name,
    expression,
    grad,
    *,
    on="fc",
    dtype="float",
    low=-3.0,
    high=3.0,
    ref=None,
    alias="",
    cost=16,
    forms=MODULE,
    doc="",
):
    """A function of one argument; integers give the default float dtype."""
    op(
        f"{name}(Tensor self) -> Tensor",
        kernel=pointwise(expression),
        dtype=dtype,
        on=on,
        grad={"self": grad} if grad else {},
        samples=unary(low, high),
        ref=ref or f"numpy.{name}(self)",
        forms=forms,
        alias=alias,
        tags=f"cost:{cost}",
        doc=doc,
    )


# ---- arithmetic ----------------------------------------------------------------------------------
op(
    "add(Tensor self, Operand other, *, Scalar alpha=1) -> Tensor",
    kernel=pointwise("x + scaled(y, alpha)"),
    grad={"self": "grad", "other": "grad * conj(alpha)"},
    samples=binary(),
    ref="self + other",
    forms=ALL + " operator:+ rop:+ iop:+",
    doc="Sum of ``input`` and ``alpha`` times ``other``, broadcast against each other.",
    example=">>> flambeau.add(flambeau.tensor([1., 2.]), 10, alpha=2)\ntensor([21., 22.])",
    tags="number_first",
)
op(
    "sub(Tensor self, Operand other, *, Scalar alpha=1) -> Tensor",
    kernel=pointwise("x - scaled(y, alpha)"),
    dtype="signed",
    on="ifc",
    grad={"self": "grad", "other": "-grad * conj(alpha)"},
    samples=binary(),
    ref="self - other",
    forms=ALL + " operator:- iop:-",
    alias="subtract",
    doc="Difference of ``input`` and ``alpha`` times ``other``.",
    tags="number_first",
)
op(
    "rsub(Tensor self, Operand other, *, Scalar alpha=1) -> Tensor",
    kernel=pointwise("y - scaled(x, alpha)"),
    node="RsubBackward0 if is_tensor(other) else RsubBackward1",
    dtype="signed",
    on="ifc",
    grad={"self": "-grad * conj(alpha)", "other": "grad"},
    samples=binary(),
    ref="other - self",
    forms="function rop:-",
    doc="``other`` minus ``alpha`` times ``input``.",
)
op(
    "mul(Tensor self, Operand other) -> Tensor",
    kernel=pointwise("x * y"),
    grad={"self": "grad * conj(other)", "other": "grad * conj(self)"},
    samples=binary(),
    ref="self * other",
    forms=ALL + " operator:* rop:* iop:*",
    alias="multiply",
    doc="Product, element by element.",
    tags="number_first",
)
op(
    "div(Tensor self, Operand other) -> Tensor",
    kernel=pointwise("x / y"),
    dtype="float",
    on="fc",
    grad={"self": "grad / conj(other)", "other": "-grad * conj(self / other / other)"},
    samples=binary(nonzero=True),
    ref="self / other",
    forms=ALL + " operator:/ iop:/",
    alias="true_divide divide",
    doc="True quotient; integers give the default float dtype.",
    tags="number_first",
)
op(
    "div.mode(Tensor self, Operand other, *, str? rounding_mode) -> Tensor",
    node="DivBackward2",
    kernel=decomp(
        'div(self, other) if is_none(rounding_mode) else (div_floor(self, other) if is_floor("div", rounding_mode) else div_trunc(self, other))'
    ),
    forms=ALL,
    samples=[],
    tags="number_first",
)
op(
    "div_floor(Tensor self, Operand other) -> Tensor",
    kernel=pointwise("floor_divide(x, y)"),
    on="bif",
    samples=binary(nonzero=True),
    ref="numpy.floor_divide(self, other)",
    forms="",
    tags="internal divides",
    grad={"self": "zeros_like(grad)", "other": "zeros_like(grad)"},
)
op(
    "div_trunc(Tensor self, Operand other) -> Tensor",
    kernel=pointwise("trunc_divide(x, y)"),
    on="bif",
    samples=binary(nonzero=True),
    ref="numpy.trunc(self / other)",
    forms="",
    tags="internal divides",
    grad={"self": "zeros_like(grad)", "other": "zeros_like(grad)"},
)
op(
    "floor_divide(Tensor self, Operand other) -> Tensor",
    kernel=decomp("div_floor(self, other)"),
    forms=ALL + " operator:// iop://",
    samples=binary(nonzero=True),
    ref="numpy.floor_divide(self, other)",
    doc="Quotient rounded down.",
    tags="number_first",
)
op(
    "rfloordiv(Tensor self, Operand other) -> Tensor",
    kernel=decomp("div_floor(as_tensor_like(other, self), self)"),
    forms="rop://",
    tags="internal",
)
op(
    "rdiv(Tensor self, Operand other) -> Tensor",
    kernel=decomp("mul(reciprocal(self), other)"),
    forms="rop:/",
    tags="internal",
)
op(
    "remainder(Tensor self, Operand other) -> Tensor",
    kernel=pointwise("remainder(x, y)"),
    node="RemainderBackward1 if is_tensor(other) else RemainderBackward0",
    on="bif",
    grad={"self": "grad", "other": "-grad * div_floor(self, other)"},
    samples=binary(nonzero=True),
    ref="numpy.remainder(self, other)",
    tags="number_then_tensor divides",
    forms=ALL + " operator:% iop:%",
    doc="Remainder with the sign of the divisor, as Python's ``%``.",
)
op(
    "remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
    kernel=decomp("remainder(as_tensor_like(self, other), other)"),
    forms="function",
)
op(
    "rremainder(Tensor self, Operand other) -> Tensor",
    kernel=decomp("remainder(as_tensor_like(other, self), self)"),
    forms="rop:%",
    tags="internal",
)
op(
    "fmod(Tensor self, Operand other) -> Tensor",
    kernel=pointwise("fmod(x, y)"),
    node="FmodBackward1 if is_tensor(other) else FmodBackward0",
    on="bif",
    grad={"self": "grad", "other": "-grad * div_trunc(self, other)"},
    samples=binary(nonzero=True),
    ref="numpy.fmod(self, other)",
    tags="divides",
    forms=ALL,
    doc="Remainder with the sign of the dividend, as C's ``fmod``.",
)
op(
    "neg(Tensor self) -> Tensor",
    kernel=pointwise("-x"),
    dtype="signed",
    on="ifc",
    grad={"self": "-grad"},
    samples=unary(),
    ref="-self",
    forms=MODULE + " operator:neg",
    alias="negative",
    doc="The negative.",
)
op(
    "reciprocal(Tensor self) -> Tensor",
    kernel=pointwise("1 / x"),
    dtype="float",
    on="fc",
    grad={"self": "-grad * conj(result * result)"},
    samples=unary(0.5, 3),
    ref="1 / self",
    forms=MODULE,
    doc="One over each element.",
)
op(
    "abs(Tensor self) -> Tensor",
    kernel=pointwise("abs(x)"),
    dtype="real",
    on="bifc",
    grad={"self": "grad * sgn(self)"},
    samples=unary(),
    ref="numpy.abs(self)",
    forms=MODULE + " operator:abs",
    alias="absolute",
    doc="Absolute value; of a complex number, its real magnitude.",
)
op(
    "sign(Tensor self) -> Tensor",
    kernel=pointwise("sign(x)"),
    on="bif",
    grad={"self": "zeros_like(grad)"},
    samples=unary(),
    ref="numpy.sign(self)",
    forms=ALL,
    doc="-1, 0 or 1; NaN stays NaN.",
)
op(
    "sgn(Tensor self) -> Tensor",
    kernel=pointwise("sign(x)"),
    on="bifc",
    grad={"self": "sgn_grad(grad, self, result)"},
    samples=unary(),
    ref="numpy.sign(self)",
    forms=ALL,
    doc="Sign; of a complex number, the number of magnitude 1 in its direction.",
)
op(
    "square(Tensor self) -> Tensor",
    kernel=decomp("square_of(self)"),
    node="PowBackward0",
    samples=unary(),
    ref="self * self",
    forms=MODULE,
    doc="Each element times itself; booleans count as integers.",
)
op(
    "_square(Tensor self) -> Tensor",
    kernel=pointwise("x * x"),
    on="ifc",
    grad={"self": "grad * conj(self) * 2"},
    samples=unary(),
    forms="",
    tags="internal",
)
op(
    "pow(Tensor self, Operand exponent) -> Tensor",
    kernel=decomp("power(self, exponent)"),
    node="PowBackward2 if is_number(self) else (PowBackward1 if is_tensor(exponent) else PowBackward0)",
    samples=binary(low=0.3, high=2.0),
    ref="numpy.power(self, exponent)",
    forms=ALL + " operator:** iop:**",
    doc="``input`` to the power ``exponent``.",
    tags="number_then_tensor",
)
op(
    "pow.Scalar(Scalar self, Tensor exponent) -> Tensor",
    kernel=decomp("_pow(as_tensor_like(self, exponent), exponent)"),
    node="PowBackward2",
    forms="function out",
)
op(
    "_pow(Tensor self, Operand exponent) -> Tensor",
    kernel=pointwise("pow(x, y)"),
    on="bifc",
    grad={
        "self": "pow_self(grad, self, exponent)",
        "exponent": "pow_exponent(grad, self, exponent, result)",
    },
    samples=binary(low=0.3, high=2.0),
    ref="numpy.power(self, exponent)",
    forms="",
    tags="internal cost:40",
)
op(
    "rpow(Tensor self, Operand exponent) -> Tensor",
    kernel=decomp("_pow(as_tensor_like(exponent, self), self)"),
    node="PowBackward1 if is_tensor(exponent) else PowBackward2",
    forms="rop:**",
    tags="internal",
)
op(
    "float_power(Tensor self, Operand exponent) -> Tensor",
    kernel=decomp("power(to_wide(self, exponent), to_wide_operand(exponent))"),
    node="PowBackward2 if is_number(self) else (PowBackward1 if is_tensor(exponent) else PowBackward0)",
    samples=binary(low=0.3, high=2.0),
    ref="numpy.float_power(self, exponent)",
    forms="function method out",
    doc="Power computed in float64 (or complex128).",
    tags="number_then_tensor",
)
op(
    "float_power_(Tensor! self, Operand exponent) -> Tensor",
    kernel=decomp("float_powered(self, exponent)"),
    node="PowBackward1 if is_tensor(exponent) else PowBackward0",
    forms="method",
    doc="Powers, in place, of a tensor of doubles.",
    example=">>> flambeau.tensor([2.0, 3.0], dtype=flambeau.float64).float_power_(2)",
)
op(
    "lerp(Tensor self, Tensor end, Operand weight) -> Tensor",
    kernel=pointwise("lerp(x, y, z)"),
    node="LerpBackward1 if is_tensor(weight) else LerpBackward0",
    on="fc",
    grad={
        "self": "grad * (1 - conj(weight))",
        "end": "grad * conj(weight)",
        "weight": "grad * conj(end - self)",
    },
    samples=ternary(),
    ref="self + weight * (end - self)",
    forms=ALL,
    doc="Linear interpolation from ``input`` to ``end``.",
)
op(
    "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    kernel=pointwise("x + value * y * z"),
    on="ifc",
    grad={
        "self": "grad",
        "tensor1": "grad * conj(tensor2) * conj(value)",
        "tensor2": "grad * conj(tensor1) * conj(value)",
    },
    samples=ternary(),
    ref="self + tensor1 * tensor2",
    forms=ALL,
    doc="``input + value * tensor1 * tensor2``.",
)
op(
    "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    kernel=pointwise("x + value * (y / z)"),
    on="fc",
    grad={
        "self": "grad",
        "tensor1": "grad * conj(value) / conj(tensor2)",
        "tensor2": "-grad * conj(tensor1) * conj(value) / conj(tensor2 * tensor2)",
    },
    samples=ternary(low=0.5),
    ref="self + tensor1 / tensor2",
    forms=ALL,
    doc="``input + value * tensor1 / tensor2``.",
)

# ---- rounding --------------------------------------------------------------------------------------
for _name in ("floor", "ceil", "trunc"):
    op(
        f"{_name}(Tensor self) -> Tensor",
        kernel=pointwise(f"{_name}(x)"),
        on="if",
        grad={"self": "zeros_like(grad)"},
        samples=unary(),
        ref=f"numpy.{_name}(self)",
        forms=MODULE,
        alias="fix" if _name == "trunc" else "",
        doc={
            "floor": "Largest integer not above.",
            "ceil": "Smallest integer not below.",
            "trunc": "Towards zero.",
        }[_name],
    )
op(
    "round(Tensor self) -> Tensor",
    kernel=pointwise("round(x)"),
    on="if",
    grad={"self": "zeros_like(grad)"},
    samples=unary(),
    ref="numpy.round(self)",
    forms=MODULE,
    alias="special.round",
    doc="Nearest integer, halves to even.",
)
op(
    "round.decimals(Tensor self, *, int decimals) -> Tensor",
    kernel=decomp("round_to(self, decimals)"),
    node="RoundBackward1",
    forms=MODULE,
)
op(
    "frac(Tensor self) -> Tensor",
    kernel=pointwise("x - trunc(x)"),
    on="f",
    grad={"self": "grad"},
    samples=unary(),
    ref="self - numpy.trunc(self)",
    forms=MODULE,
    doc="The fractional part, with the sign of the element.",
)

# ---- exponentials and logarithms -------------------------------------------------------------------
elementary("exp", "exp(x)", "grad * conj(result)", doc="e to the power of each element.")
elementary(
    "exp2",
    "exp2(x)",
    "grad * conj(result) * 0.69314718055994530942",
    alias="special.exp2",
    doc="2 to the power of each element.",
)
elementary(
    "expm1",
    "expm1(x)",
    "grad * conj(result + 1)",
    alias="special.expm1",
    doc="``exp(input) - 1``, exact near zero.",
)
elementary("log", "log(x)", "grad / conj(self)", low=0.2, doc="Natural logarithm.")
elementary(
    "log2",
    "log2(x)",
    "grad / conj(self * 0.69314718055994530942)",
    low=0.2,
    doc="Logarithm to base 2.",
)
elementary(
    "log10",
    "log10(x)",
    "grad / conj(self * 2.30258509299404568402)",
    low=0.2,
    doc="Logarithm to base 10.",
)
elementary(
    "log1p",
    "log1p(x)",
    "grad / conj(self + 1)",
    low=-0.9,
    alias="special.log1p",
    doc="``log(1 + input)``, exact near zero.",
)
elementary("sqrt", "sqrt(x)", "grad / conj(result * 2)", low=0.2, cost=6, doc="Square root.")
elementary(
    "rsqrt",
    "rsqrt(x)",
    "-grad * conj(result * result * result) * 0.5",
    low=0.2,
    ref="1 / numpy.sqrt(self)",
    cost=8,
    doc="One over the square root.",
)

# ---- trigonometry ----------------------------------------------------------------------------------
elementary("sin", "sin(x)", "grad * conj(cos(self))", doc="Sine of radians.")
elementary("cos", "cos(x)", "-grad * conj(sin(self))", doc="Cosine of radians.")
elementary(
    "tan",
    "tan(x)",
    "grad * conj(result * result + 1)",
    low=-1.2,
    high=1.2,
    doc="Tangent of radians.",
)
elementary("sinh", "sinh(x)", "grad * conj(cosh(self))", doc="Hyperbolic sine.")
elementary("cosh", "cosh(x)", "grad * conj(sinh(self))", doc="Hyperbolic cosine.")
elementary(
    "tanh",
    "tanh(x)",
    "tanh_backward(grad, result)",
    alias="nn.functional.tanh",
    doc="Hyperbolic tangent.",
)
op(
    "tanh_backward(Tensor grad_output, Tensor output) -> Tensor",
    kernel=pointwise("x * conj(1 - y * y)"),
    on="fc",
    grad={
        "grad_output": "conj(tanh_backward(conj(grad), output))",
        "output": "conj(grad) * grad_output * conj(output) * (-2)",
    },
    samples=binary(),
    forms="",
    tags="internal",
)
elementary(
    "asin",
    "asin(x)",
    "grad * conj(rsqrt(1 - self * self))",
    low=-0.9,
    high=0.9,
    ref="numpy.arcsin(self)",
    alias="arcsin",
    doc="Inverse sine.",
)
elementary(
    "acos",
    "acos(x)",
    "-grad * conj(rsqrt(1 - self * self))",
    low=-0.9,
    high=0.9,
    ref="numpy.arccos(self)",
    alias="arccos",
    doc="Inverse cosine.",
)
elementary(
    "atan",
    "atan(x)",
    "grad / conj(self * self + 1)",
    ref="numpy.arctan(self)",
    alias="arctan",
    doc="Inverse tangent.",
)
elementary(
    "asinh",
    "asinh(x)",
    "grad * conj(rsqrt(self * self + 1))",
    ref="numpy.arcsinh(self)",
    alias="arcsinh",
    doc="Inverse hyperbolic sine.",
)
elementary(
    "acosh",
    "acosh(x)",
    "grad * conj(rsqrt(self - 1) * rsqrt(self + 1))",
    low=1.2,
    ref="numpy.arccosh(self)",
    alias="arccosh",
    doc="Inverse hyperbolic cosine.",
)
elementary(
    "atanh",
    "atanh(x)",
    "grad / conj(1 - self * self)",
    low=-0.9,
    high=0.9,
    ref="numpy.arctanh(self)",
    alias="arctanh",
    doc="Inverse hyperbolic tangent.",
)
op(
    "atan2(Tensor self, Tensor other) -> Tensor",
    kernel=pointwise("atan2(x, y)"),
    dtype="float",
    on="f",
    grad={
        "self": "grad * (other / (self * self + other * other))",
        "other": "-grad * (self / (self * self + other * other))",
    },
    samples=binary(nonzero=True),
    ref="numpy.arctan2(self, other)",
    forms=ALL,
    alias="arctan2",
    tags="cost:30",
    doc="Angle of the point (``other``, ``input``).",
)
op(
    "hypot(Tensor self, Tensor other) -> Tensor",
    kernel=pointwise("hypot(x, y)"),
    on="f",
    grad={"self": "grad * (self / result)", "other": "grad * (other / result)"},
    samples=binary(nonzero=True),
    ref="numpy.hypot(self, other)",
    forms=ALL,
    tags="cost:20",
    doc="Length of the hypotenuse, without overflow.",
)
elementary(
    "deg2rad",
    "x * 0.017453292519943295",
    "grad * 0.017453292519943295",
    on="f",
    cost=4,
    ref="numpy.deg2rad(self)",
    doc="Degrees to radians.",
)
elementary(
    "rad2deg",
    "x * 57.29577951308232",
    "grad * 57.29577951308232",
    on="f",
    cost=4,
    ref="numpy.rad2deg(self)",
    doc="Radians to degrees.",
)

# ---- error function and relatives ------------------------------------------------------------------
elementary(
    "erf",
    "erf(x)",
    "grad * exp(-(self * self)) * 1.12837916709551257390",
    on="f",
    ref="scipy.special.erf(self)",
    alias="special.erf",
    doc="Error function.",
)
elementary(
    "erfc",
    "erfc(x)",
    "grad * exp(-(self * self)) * (-1.12837916709551257390)",
    on="f",
    ref="scipy.special.erfc(self)",
    alias="special.erfc",
    doc="``1 - erf(input)``.",
)
elementary(
    "erfinv",
    "erfinv(x)",
    "grad * exp(result * result) * 0.88622692545275801365",
    on="f",
    low=-0.9,
    high=0.9,
    ref="scipy.special.erfinv(self)",
    alias="special.erfinv",
    cost=40,
    doc="Inverse of the error function.",
    forms=ALL,
)
elementary(
    "lgamma",
    "lgamma(x)",
    "grad * digamma(self)",
    on="f",
    low=0.2,
    ref="scipy.special.gammaln(self)",
    alias="special.gammaln",
    cost=60,
    doc="Logarithm of the absolute gamma function.",
    forms=ALL,
)
elementary(
    "digamma",
    "digamma(x)",
    "grad * _polygamma(self, 1)",
    on="f",
    low=0.2,
    ref="scipy.special.digamma(self)",
    alias="special.digamma special.psi",
    cost=60,
    doc="Derivative of lgamma.",
    forms=ALL,
)
elementary(
    "sinc",
    "normalized_sinc(x)",
    "sinc_grad(grad, self, result)",
    ref="numpy.sinc(self)",
    alias="special.sinc",
    doc="``sin(pi x) / (pi x)``.",
)
elementary(
    "sigmoid",
    "sigmoid(x)",
    "sigmoid_backward(grad, result)",
    ref="1 / (1 + numpy.exp(-self))",
    alias="special.expit nn.functional.sigmoid",
    doc="``1 / (1 + exp(-input))``.",
)
op(
    "sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor",
    kernel=pointwise("x * conj((1 - y) * y)"),
    on="fc",
    grad={
        "grad_output": "conj(sigmoid_backward(conj(grad), output))",
        "output": "conj(grad) * grad_output * (1 - 2 * conj(output))",
    },
    samples=binary(),
    forms="",
    tags="internal",
)
op(
    "xlogy(Tensor self, Operand other) -> Tensor",
    kernel=pointwise("xlogy(x, y)"),
    node="XlogyBackward1 if is_number(self) else (XlogyBackward0 if is_tensor(other) else XlogyBackward2)",
    dtype="float",
    on="f",
    grad={"self": "grad * masked_log(self, other)", "other": "grad * self / other"},
    samples=binary(low=0.3),
    ref="scipy.special.xlogy(self, other)",
    forms=MODULE,
    alias="special.xlogy",
    doc="``input * log(other)``, zero where ``input`` is zero.",
    tags="number_then_tensor",
)
op(
    "logaddexp(Tensor self, Tensor other) -> Tensor",
    kernel=pointwise("logaddexp(x, y)"),
    on="fc",
    grad={
        "self": "grad * conj(sigmoid(self - other))",
        "other": "grad * conj(sigmoid(other - self))",
    },
    samples=binary(),
    ref="numpy.log(numpy.exp(self) + numpy.exp(other))",
    forms="function method out",
    tags="cost:30",
    doc="Logarithm of the sum of exponentials, without overflow.",
)
op(
    "logaddexp2(Tensor self, Tensor other) -> Tensor",
    kernel=pointwise("logaddexp2(x, y)"),
    on="f",
    grad={
        "self": "grad * sigmoid((self - other) * 0.69314718055994530942)",
        "other": "grad * sigmoid((other - self) * 0.69314718055994530942)",
    },
    samples=binary(),
    ref="numpy.logaddexp2(self, other)",
    forms="function method out",
    tags="cost:30",
    doc="logaddexp in base 2.",
)
op(
    "logit(Tensor self, float? eps=None) -> Tensor",
    kernel=decomp("logit_of(self, eps)"),
    node="LogitBackward0",
    samples=unary(0.1, 0.9),
    ref="numpy.log(self / (1 - self))",
    forms=MODULE,
    alias="special.logit",
    doc="``log(input / (1 - input))``, the argument clamped to [eps, 1 - eps] when given.",
)
op(
    "_logit(Tensor self) -> Tensor",
    kernel=pointwise("logit(x)"),
    dtype="float",
    on="f",
    grad={"self": "logit_grad(grad, self)"},
    samples=unary(0.1, 0.9),
    forms="",
    tags="internal cost:16",
)
op(
    "copysign(Tensor self, Operand other) -> Tensor",
    kernel=pointwise("copysign(x, y)"),
    node="CopysignBackward0 if is_tensor(other) else CopysignBackward1",
    dtype="float",
    on="f",
    grad={"self": "copysign_grad(grad, self, result)", "other": "zeros_like(grad)"},
    samples=binary(nonzero=True),
    ref="numpy.copysign(self, other)",
    forms=ALL,
    doc="Magnitude of ``input`` with the sign of ``other``.",
)
op(
    "nextafter(Tensor self, Tensor other) -> Tensor",
    kernel=pointwise("nextafter(x, y)"),
    on="f",
    grad={"self": "masked(grad, ne(self, other))", "other": "zeros_like(grad)"},
    samples=binary(),
    ref="numpy.nextafter(self, other)",
    forms=ALL,
    doc="The next representable number after ``input`` towards ``other``.",
)
op(
    "heaviside(Tensor self, Tensor values) -> Tensor",
    kernel=pointwise("heaviside(x, y)"),
    on="bif",
    samples=binary(),
    ref="numpy.heaviside(self, values)",
    forms=ALL,
    doc="0 below zero, 1 above, ``values`` at zero.",
)
op(
    "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
    kernel=decomp("replace_nonfinite(self, nan, posinf, neginf)"),
    node="NanToNumBackward0",
    samples=unary(),
    ref="numpy.nan_to_num(self)",
    forms=MODULE,
    doc="Replaces NaN (by zero) and infinities (by the largest finite numbers).",
)
op(
    "_nan_to_num(Tensor self, Scalar nan, Scalar posinf, Scalar neginf) -> Tensor",
    kernel=pointwise("nan if x != x else (posinf if x == inf else (neginf if x == -inf else x))"),
    on="f",
    grad={"self": "masked(grad, isfinite(self))"},
    samples=[],
    forms="",
    tags="internal",
)
