"""Softmax and its logarithm: one fused pass per line, with backward kernels of their own."""

from __future__ import annotations

from .samples import T
from .table import composite, native, op

SAMPLES = [(T(2, 3), 1), (T(2, 3, 4), 0), (T(), 0)]

for _name, _doc in (
    ("softmax", "Exponentials divided by their sum along ``dim``."),
    ("log_softmax", "Logarithm of `softmax`."),
):
    op(
        f"{_name}(Tensor self, int dim, dtype? dtype=None) -> Tensor",
        kernel=composite,
        samples=SAMPLES,
        forms="function method out",
        alias=f"special.{_name}",
        doc=_doc,
        tags="out:exact",
    )
    op(
        f"_{_name}(Tensor self, int dim) -> Tensor",
        kernel=native,
        grad={"self": f"_{_name}_backward(grad, result, dim)"},
        samples=SAMPLES,
        forms="",
        tags="internal",
    )
    op(
        f"_{_name}_backward(Tensor grad_output, Tensor output, int dim) -> Tensor",
        kernel=native,
        grad={
            "grad_output": "_softmax_backward(grad, output, dim)"
            if _name == "softmax"
            else "grad - spread(sum_dim(grad * exp(output), (dim,), False, None), output.shape, (dim,), False)",
            "output": f"{_name}_grad_output(grad, grad_output, output, dim)",
        },
        forms="",
        tags="internal",
    )
