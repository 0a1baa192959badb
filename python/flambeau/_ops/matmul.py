"""Matrix products."""

from __future__ import annotations

from .samples import T
from .table import composite, decomp, native, op

FM = "function method out"

op(
    "mm(Tensor self, Tensor mat2) -> Tensor",
    kernel=native,
    grad={"self": "mm(grad, mH(mat2))", "mat2": "mm(mH(self), grad)"},
    samples=[(T(2, 3), T(3, 4)), (T(0, 3), T(3, 2)), (T(2, 0), T(0, 3))],
    ref="self @ mat2",
    forms=FM,
    tags="autocast:lower out:exact",
    doc="Product of two matrices.",
)
op(
    "_scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? bias=None,"
    " Tensor? scale_result=None, dtype? out_dtype=None, bool use_fast_accum=False) -> Tensor",
    kernel=composite,
    forms="function out",
    tags="out:exact",
    doc="Product of two float8 matrices, added up in float32, times scales (one, or one per row and column).",
    example="""
        >>> a = flambeau.ones(2, 16).to(flambeau.float8_e4m3fn)
        >>> one, half = flambeau.tensor(1.0), flambeau.tensor(0.5)
        >>> flambeau._scaled_mm(a, a.t(), one, half, out_dtype=flambeau.float32)
        tensor([[8., 8.],
                [8., 8.]])
    """,
)
op(
    "_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None,"
    " dtype? out_dtype=None) -> Tensor",
    kernel=composite,
    forms="function",
    doc="Products of matrices of different sizes that lie side by side in one; see `nn.functional.grouped_mm`.",
    example="""
        >>> tokens = flambeau.tensor([[1.0], [2.0], [3.0]])
        >>> experts = flambeau.tensor([[[10.0, 1.0]], [[100.0, 2.0]]])
        >>> flambeau._grouped_mm(tokens, experts, flambeau.tensor([1, 3], dtype=flambeau.int32))
        tensor([[ 10.,   1.],
                [200.,   4.],
                [300.,   6.]])
    """,
)
op(
    "bmm(Tensor self, Tensor mat2) -> Tensor",
    kernel=native,
    grad={"self": "bmm(grad, mH(mat2))", "mat2": "bmm(mH(self), grad)"},
    samples=[(T(2, 2, 3), T(2, 3, 4)), (T(0, 2, 3), T(0, 3, 4))],
    ref="self @ mat2",
    forms=FM,
    tags="autocast:lower out:exact",
    doc="Products of matrices, batch by batch.",
)
op(
    "matmul(Tensor self, Tensor other) -> Tensor",
    kernel=composite,
    samples=[
        (T(3), T(3)),
        (T(2, 3), T(3)),
        (T(3), T(3, 2)),
        (T(2, 3), T(3, 4)),
        (T(5, 1, 2, 3), T(4, 3, 2)),
        (T(2, 2, 3), T(3, 2)),
    ],
    ref="self @ other",
    forms=FM + " operator:@",
    alias="linalg.matmul",
    tags="autocast:lower out:exact",
    doc="Matrix product: of vectors, matrices, and batches of matrices whose batch dimensions broadcast.",
)
op(
    "rmatmul(Tensor self, Tensor other) -> Tensor",
    kernel=decomp("matmul(other, self)"),
    forms="rop:@",
    tags="internal",
)
op(
    "mv(Tensor self, Tensor vec) -> Tensor",
    kernel=composite,
    samples=[(T(2, 3), T(3))],
    ref="self @ vec",
    forms=FM,
    tags="autocast:none out:exact",
    doc="Matrix times vector.",
)
op(
    "dot(Tensor self, Tensor tensor) -> Tensor",
    kernel=composite,
    samples=[(T(3), T(3))],
    ref="self @ tensor",
    forms=FM,
    tags="autocast:none out:exact",
    doc="Sum of products of two vectors.",
)
op(
    "vdot(Tensor self, Tensor other) -> Tensor",
    kernel=decomp("dot(conj(self), other)"),
    node="VdotBackward0",
    example="""
        >>> flambeau.vdot(flambeau.tensor([1j, 2]), flambeau.tensor([1j, 1]))
        tensor(3.+0.j)
    """,
    forms=FM,
    tags="autocast:none out:exact",
    doc="dot with the first vector conjugated.",
)
op(
    "inner(Tensor self, Tensor other) -> Tensor",
    kernel=composite,
    samples=[(T(2, 3), T(4, 3))],
    forms=FM,
    doc="Sums of products over the last dimensions.",
    tags="out:exact",
)
op(
    "outer(Tensor self, Tensor vec2) -> Tensor",
    kernel=composite,
    samples=[(T(2), T(3))],
    ref="numpy.outer(self, vec2)",
    forms=FM,
    alias="ger",
    doc="Every product of two vectors' elements.",
)
op(
    "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    kernel=composite,
    node="AddmmBackward0",
    samples=[(T(2, 4), T(2, 3), T(3, 4)), (T(4), T(2, 3), T(3, 4))],
    ref="self + mat1 @ mat2",
    forms=FM + " inplace",
    tags="autocast:lower out:exact",
    doc="``beta * input + alpha * (mat1 @ mat2)``.",
)
op(
    "addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    kernel=composite,
    node="AddmvBackward0",
    tags="autocast:none out:exact",
    doc="``beta * input + alpha * (mat @ vec)``.",
    samples=[(T(2), T(2, 3), T(3))],
    forms=FM + " inplace function_",
)
op(
    "addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    kernel=composite,
    node="AddrBackward0",
    doc="``beta * input + alpha * outer(vec1, vec2)``.",
    samples=[(T(2, 3), T(2), T(3))],
    forms=FM + " inplace",
)
op(
    "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    kernel=composite,
    node="BaddbmmBackward0",
    tags="autocast:lower out:exact",
    doc="``beta * input + alpha * bmm(batch1, batch2)``.",
    samples=[(T(2, 2, 4), T(2, 2, 3), T(2, 3, 4))],
    forms=FM + " inplace",
)
op(
    "addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    kernel=composite,
    node="AddbmmBackward0",
    tags="autocast:lower out:exact",
    doc="``beta * input`` plus ``alpha`` times the sum of the batch's matrix products.",
    samples=[(T(2, 4), T(2, 2, 3), T(2, 3, 4))],
    forms=FM + " inplace",
)
op(
    "linear(Tensor self, Tensor weight, Tensor? bias=None) -> Tensor",
    kernel=native,
    node="linear_node(self, bias)",
    grad={
        "self": "matmul(grad, conj(weight))",
        "weight": "linear_weight_grad(grad, self)",
        "bias": "grad",
    },
    samples=[(T(2, 3), T(4, 3), T(4)), (T(3), T(4, 3), T(4)), (T(2, 2, 3), T(4, 3), None)],
    forms="",
    alias="nn.functional.linear",
    tags="autocast:lower",
    doc="``input @ weight.T + bias``.",
)
