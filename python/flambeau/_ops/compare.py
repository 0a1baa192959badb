"""Comparisons, logic, selection, minimum and maximum, clamping."""

from __future__ import annotations

from .samples import binary, scalar_binary, unary
from .table import decomp, op, pointwise

ALL = "function method inplace out"
MODULE = ALL + " function_"

for _name, _alias, _symbol, _on in (
    ("eq", "", "==", "bifc"),
    ("ne", "not_equal", "!=", "bifc"),
    ("lt", "less", "<", "bif"),
    ("le", "less_equal", "<=", "bif"),
    ("gt", "greater", ">", "bif"),
    ("ge", "greater_equal", ">=", "bif"),
):
    op(
        f"{_name}(Tensor self, Operand other) -> Tensor",
        kernel=pointwise(f"x {_symbol} y"),
        dtype="bool",
        on=_on,
        samples=binary(),
        ref=f"self {_symbol} other",
        forms=f"{ALL} operator:{_symbol}",
        alias=_alias,
        doc=f"``input {_symbol} other``, element by element, as booleans.",
    )
for _name, _sign in (("logical_and", "and"), ("logical_or", "or")):
    op(
        f"{_name}(Tensor self, Tensor other) -> Tensor",
        kernel=pointwise(f"x {_sign} y"),
        dtype="bool",
        on="bifc",
        samples=binary(),
        ref=f"numpy.{_name}(self, other)",
        forms=ALL,
        doc=f"Logical {_sign} of the elements' truth.",
    )
op(
    "logical_xor(Tensor self, Tensor other) -> Tensor",
    kernel=pointwise("truth(x) != truth(y)"),
    dtype="bool",
    on="bifc",
    samples=binary(),
    ref="numpy.logical_xor(self, other)",
    forms=ALL,
    doc="Whether exactly one of the two is true.",
)
op(
    "logical_not(Tensor self) -> Tensor",
    kernel=pointwise("not truth(x)"),
    dtype="bool",
    on="bifc",
    samples=unary(),
    ref="numpy.logical_not(self)",
    forms=ALL,
    doc="Logical negation.",
)
op(
    "isnan(Tensor self) -> Tensor",
    kernel=pointwise("x != x"),
    dtype="bool",
    on="bifc",
    samples=unary(),
    ref="numpy.isnan(self)",
    forms="function method",
    doc="True where an element is NaN.",
)
op(
    "isfinite(Tensor self) -> Tensor",
    kernel=pointwise("is_finite(x)"),
    dtype="bool",
    on="bifc",
    samples=unary(),
    ref="numpy.isfinite(self)",
    forms="function method",
    doc="True where an element is neither infinite nor NaN.",
)
op(
    "isinf(Tensor self) -> Tensor",
    kernel=pointwise("is_infinite(x)"),
    dtype="bool",
    on="bifc",
    samples=unary(),
    ref="numpy.isinf(self)",
    forms="function method",
    doc="True where an element is infinite.",
)
for _name, _value, _side in (("isposinf", "inf", "x > 0"), ("isneginf", "-inf", "x < 0")):
    op(
        f"{_name}(Tensor self) -> Tensor",
        kernel=pointwise(f"is_infinite(x) and {_side}"),
        dtype="bool",
        on="bif",
        samples=unary(),
        ref=f"numpy.{_name}(self)",
        forms="function method out",
        doc=f"True where an element is {_value}.",
    )
op(
    "signbit(Tensor self) -> Tensor",
    kernel=pointwise("sign_bit(x)"),
    dtype="bool",
    on="bif",
    samples=unary(),
    ref="numpy.signbit(self)",
    forms="function method out",
    doc="True where the sign bit is set (also -0.0).",
)
op(
    "isreal(Tensor self) -> Tensor",
    kernel=pointwise("has_no_imaginary(x)"),
    dtype="bool",
    on="bifc",
    samples=unary(),
    ref="numpy.isreal(self)",
    forms="function method",
    doc="True where the imaginary part is zero.",
)

op(
    "where(Tensor condition, Operand self, Operand other) -> Tensor",
    kernel=decomp("_where(as_condition(condition), self, other)"),
    example="""
        >>> x = flambeau.tensor([-1.0, 2.0])
        >>> flambeau.where(x > 0, x, 0.0)
        tensor([0., 2.])
    """,
    forms="function out",
    samples=[],
    doc="Elements of ``input`` where ``condition``, of ``other`` elsewhere.",
    tags="out:exact",
)
op(
    "where.condition(Tensor condition) -> Tensor[]",
    kernel=decomp("nonzero_tuple(condition)"),
    forms="function",
)
op(
    "_where(Tensor condition, Operand self, Operand other) -> Tensor",
    kernel=pointwise("y if x else z"),
    on="bifc",
    grad={"self": "masked(grad, condition)", "other": "masked(grad, logical_not(condition))"},
    samples=[],
    forms="",
    tags="internal",
)

op(
    "maximum(Tensor self, Tensor other) -> Tensor",
    kernel=pointwise("maximum(x, y)"),
    on="bif",
    grad={
        "self": "share_ties(grad, self, other, True)",
        "other": "share_ties(grad, other, self, True)",
    },
    samples=binary(),
    ref="numpy.maximum(self, other)",
    forms="function method out",
    doc="The larger of the two; NaN wins.",
)
op(
    "minimum(Tensor self, Tensor other) -> Tensor",
    kernel=pointwise("minimum(x, y)"),
    on="bif",
    grad={
        "self": "share_ties(grad, self, other, False)",
        "other": "share_ties(grad, other, self, False)",
    },
    samples=binary(),
    ref="numpy.minimum(self, other)",
    forms="function method out",
    doc="The smaller of the two; NaN wins.",
)
op(
    "fmax(Tensor self, Tensor other) -> Tensor",
    kernel=pointwise("fmax(x, y)"),
    on="bif",
    grad={
        "self": "masked(grad, logical_or(ge(self, other), isnan(other)))",
        "other": "masked(grad, logical_not(logical_or(ge(self, other), isnan(other))))",
    },
    samples=binary(),
    ref="numpy.fmax(self, other)",
    forms="function method out",
    doc="The larger of the two; a number wins over NaN.",
)
op(
    "fmin(Tensor self, Tensor other) -> Tensor",
    kernel=pointwise("fmin(x, y)"),
    on="bif",
    grad={
        "self": "masked(grad, logical_or(le(self, other), isnan(other)))",
        "other": "masked(grad, logical_not(logical_or(le(self, other), isnan(other))))",
    },
    samples=binary(),
    ref="numpy.fmin(self, other)",
    forms="function method out",
    doc="The smaller of the two; a number wins over NaN.",
)

op(
    "clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
    kernel=decomp("clamp_tensors(self, min, max)"),
    node="ClampBackward0",
    forms=MODULE,
    alias="clip",
    samples=[],
)
op(
    "clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
    kernel=decomp("clamp_numbers(self, min, max)"),
    node="ClampBackward1",
    samples=scalar_binary(),
    forms=MODULE,
    alias="clip",
    doc="Limits elements to [min, max].",
)
op(
    "clamp_min(Tensor self, Operand min) -> Tensor",
    kernel=pointwise("maximum(x, y)"),
    node="ClampMinBackward1 if is_tensor(min) else ClampMinBackward0",
    on="bif",
    grad={"self": "masked(grad, above(self, min))", "min": "masked(grad, lt(self, min))"},
    samples=binary(),
    ref="numpy.maximum(self, min)",
    forms=MODULE,
    tags="bounds",
    doc="Limits elements from below.",
)
op(
    "clamp_max(Tensor self, Operand max) -> Tensor",
    kernel=pointwise("minimum(x, y)"),
    node="ClampMaxBackward1 if is_tensor(max) else ClampMaxBackward0",
    on="bif",
    grad={"self": "masked(grad, below(self, max))", "max": "masked(grad, gt(self, max))"},
    samples=binary(),
    ref="numpy.minimum(self, max)",
    forms=MODULE,
    tags="bounds",
    doc="Limits elements from above.",
)
op(
    "_clamp(Tensor self, Operand min, Operand max) -> Tensor",
    kernel=pointwise("minimum(maximum(x, y), z)"),
    on="bif",
    grad={
        "self": "masked(grad, logical_and(above(self, min), below(self, max)))",
        "min": "masked(grad, logical_and(lt(self, min), lt_operands(min, max)))",
        "max": "masked(grad, logical_or(gt(self, max), logical_not(lt_operands(min, max))))",
    },
    samples=[],
    forms="",
    tags="internal bounds",
)
