"""Cumulative operators."""

from __future__ import annotations

from .samples import T
from .table import composite, native, op

FMO = "function method out"
FMIO = "function method inplace out"
SAMPLES = [(T(2, 3), 1), (T(2, 3, 4), 0), (T(), 0)]

op(
    "cumsum(Tensor self, int dim, *, dtype? dtype=None) -> Tensor",
    kernel=native,
    grad={"self": "reverse_cumsum(grad, dim)"},
    samples=SAMPLES,
    ref="numpy.cumsum(self, dim).reshape(self.shape)",
    forms=FMIO,
    doc="Sums of the elements up to each one.",
)
op(
    "cumprod(Tensor self, int dim, *, dtype? dtype=None) -> Tensor",
    kernel=native,
    grad={"self": "cumprod_grad(grad, self, dim)"},
    samples=SAMPLES,
    ref="numpy.cumprod(self, dim).reshape(self.shape)",
    forms=FMIO,
    doc="Products of the elements up to each one.",
)
for _name, _word in (("cummax", "Largest"), ("cummin", "Smallest")):
    op(
        f"{_name}(Tensor self, int dim) -> (Tensor values, Tensor indices)",
        kernel=native,
        grad={"self": "cumextreme_grad(grads[0], self, results[1], dim)"},
        samples=SAMPLES,
        forms=FMO,
        doc=f"{_word} of the elements up to each one, and where it stands.",
        tags="out:exact",
    )
op(
    "logcumsumexp(Tensor self, int dim) -> Tensor",
    kernel=native,
    grad={"self": "logcumsumexp_grad(grad, self, result, dim)"},
    samples=SAMPLES,
    forms=FMO,
    doc="Logarithms of `cumsum` of the exponentials, without overflow.",
    tags="out:exact",
)
op(
    "diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor",
    kernel=composite,
    samples=[(T(2, 4),), (T(2, 4), 2, 0)],
    forms=FMO,
    doc="Differences of neighbours, ``n`` times over.",
)
for _name, _what in (("trapezoid", "Integral"), ("cumulative_trapezoid", "Cumulative integral")):
    op(
        f"{_name}(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
        kernel=composite,
        samples=[(T(4), T(4))],
        forms="function",
        alias="trapz" if _name == "trapezoid" else "",
        doc=f"{_what} by the trapezoidal rule, at points ``x`` or at distance ``dx``.",
    )
    op(
        f"{_name}.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
        kernel=composite,
        samples=[(T(4),)],
        forms="function",
    )
