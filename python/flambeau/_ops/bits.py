"""Complex parts and bit operations, element by element."""

from __future__ import annotations

from .samples import binary, unary
from .table import decomp, op, pointwise

ALL = "function method inplace out"
MODULE = ALL + " function_"

# ---- complex ---------------------------------------------------------------------------------------
op(
    "conj_physical(Tensor self) -> Tensor",
    kernel=pointwise("conj(x)"),
    on="bifc",
    grad={"self": "conj(grad)"},
    samples=unary(),
    ref="numpy.conj(self)",
    forms="function method inplace function_ out",
    doc="Complex conjugate, computed at once.",
)
op(
    "angle(Tensor self) -> Tensor",
    kernel=decomp("angle_of(self)"),
    samples=unary(),
    ref="numpy.angle(self)",
    forms="function method out",
    doc="Angle in radians; of real numbers 0 or pi.",
)
op(
    "_angle(Tensor self) -> Tensor",
    kernel=pointwise("arg(x)"),
    dtype="real",
    on="fc",
    grad={"self": "angle_grad(grad, self)"},
    samples=[],
    forms="",
    tags="internal",
)

# ---- integers --------------------------------------------------------------------------------------
for _name, _expression, _symbols in (
    ("bitwise_and", "x & y", "operator:& rop:& iop:&"),
    ("bitwise_or", "x | y", "operator:| rop:| iop:|"),
    ("bitwise_xor", "x ^ y", "operator:^ rop:^ iop:^"),
):
    op(
        f"{_name}(Tensor self, Operand other) -> Tensor",
        kernel=pointwise(_expression),
        on="bi",
        samples=binary(integers=True),
        ref=f"numpy.{_name}(self, other)",
        forms=ALL + " " + _symbols,
        tags="number_then_tensor",
        doc="Bit by bit; of booleans, the logical operation.",
    )
op(
    "bitwise_not(Tensor self) -> Tensor",
    kernel=pointwise("bit_not(x)"),
    on="bi",
    samples=unary(integers=True),
    ref="numpy.invert(self)",
    forms=ALL + " operator:invert",
    doc="Every bit flipped; of booleans, the logical negation.",
)
op(
    "bitwise_left_shift(Tensor self, Operand other) -> Tensor",
    kernel=pointwise("shift_left(x, y)"),
    example="""
        >>> flambeau.bitwise_left_shift(flambeau.tensor([1, 3]), 2)
        tensor([ 4, 12])
    """,
    on="i",
    samples=[],
    forms=ALL + " operator:<< iop:<<",
    doc="Shifted left by ``other`` bits.",
    tags="number_then_tensor",
)
op(
    "bitwise_right_shift(Tensor self, Operand other) -> Tensor",
    kernel=pointwise("shift_right(x, y)"),
    example="""
        >>> flambeau.bitwise_right_shift(flambeau.tensor([8, -8]), 2)
        tensor([ 2, -2])
    """,
    on="i",
    samples=[],
    forms=ALL + " operator:>> iop:>>",
    doc="Shifted right by ``other`` bits, keeping the sign.",
    tags="number_then_tensor",
)
for _name, _full, _symbol in (("rlshift", "left", "<<"), ("rrshift", "right", ">>")):
    op(
        f"{_name}(Tensor self, Operand other) -> Tensor",
        kernel=decomp(f"bitwise_{_full}_shift(as_tensor_like(other, self), self)"),
        forms=f"rop:{_symbol}",
        tags="internal",
        samples=[],
    )
for _name in ("gcd", "lcm"):
    op(
        f"{_name}(Tensor self, Tensor other) -> Tensor",
        kernel=pointwise(f"{_name}(x, y)"),
        on="i",
        samples=binary(integers=True),
        ref=f"numpy.{_name}(self, other)",
        forms=MODULE,
        doc="Greatest common divisor." if _name == "gcd" else "Least common multiple.",
    )
