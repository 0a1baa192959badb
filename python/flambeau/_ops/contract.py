"""Contractions of any rank (einsum, tensordot, multi_dot), and products and distances of vectors."""

from __future__ import annotations

from .samples import T
from .table import composite, native, op

FM = "function method out"

op(
    "_einsum(str equation, Tensor[] operands) -> Tensor",
    kernel=composite,
    forms="",
    tags="internal",
)
op(
    "_tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor",
    kernel=composite,
    forms="",
    tags="internal",
)
op(
    "linalg_multi_dot(Tensor[] tensors) -> Tensor",
    kernel=composite,
    samples=[([T(2, 3), T(3, 4), T(4, 2)],), ([T(3), T(3, 2)],)],
    forms="out",
    alias="linalg.multi_dot",
    doc="Product of two or more matrices in the order that multiplies least; the first and the last may be vectors.",
    tags="out:exact",
)
op(
    "kron(Tensor self, Tensor other) -> Tensor",
    kernel=composite,
    node="UnsafeViewBackward0",
    samples=[(T(2, 3), T(3, 2)), (T(2), T(2, 2))],
    ref="numpy.kron(self, other)",
    forms=FM,
    doc="Kronecker product: every element of ``input`` times the whole of ``other``.",
)
op(
    "linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor",
    kernel=composite,
    node="LinalgCrossBackward0",
    samples=[(T(2, 3), T(2, 3)), (T(1, 3), T(4, 3))],
    ref="numpy.cross(self, other)",
    forms="out",
    alias="linalg.cross",
    doc="Cross product of vectors of three elements along ``dim``.",
    tags="out:exact",
)
op(
    "cross(Tensor self, Tensor other, int? dim=None) -> Tensor",
    kernel=composite,
    node="LinalgCrossBackward0",
    samples=[(T(2, 3), T(2, 3)), (T(3, 2), T(3, 2), 0)],
    forms=FM,
    doc="Cross product along ``dim``, by default the first dimension of size 3.",
    tags="out:exact",
)
op(
    "linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor",
    kernel=composite,
    samples=[(T(2, 3), T(2, 3)), (T(3), T(2, 3))],
    forms="out",
    alias="linalg.vecdot",
    tags="autocast:lower out:exact",
    doc="Dot products of vectors along ``dim``, the first one conjugated.",
)
op(
    "trace(Tensor self) -> Tensor",
    kernel=composite,
    node="TraceBackward0",
    samples=[(T(3, 3),), (T(2, 3),)],
    ref="numpy.trace(self)",
    forms="function method",
    tags="autocast:fp32",
    doc="Sum of a matrix's diagonal.",
)
op(
    "_euclidean_dist(Tensor x1, Tensor x2) -> Tensor",
    kernel=native,
    grad={
        "x1": "euclidean_grad(grad, x1, x2, result)",
        "x2": "euclidean_grad(mT(grad), x2, x1, mT(result))",
    },
    samples=[(T(2, 3), T(4, 3))],
    forms="",
    tags="internal",
)
op(
    "cdist(Tensor x1, Tensor x2, float p=2.0, int? compute_mode=None) -> Tensor",
    kernel=composite,
    node="CdistBackward0",
    samples=[(T(2, 3), T(4, 3)), (T(2, 2, 3), T(1, 4, 3), 1.0)],
    forms="",
    tags="internal autocast:fp32",
)
