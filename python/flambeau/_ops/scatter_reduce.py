"""Reductions of elements that an index sends to the same place."""

from __future__ import annotations

from .samples import T, at
from .table import composite, native, op

FMI = "function method inplace out"
MODES = ("sum", "prod", "mean", "amax", "amin")

op(
    "scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor",
    kernel=native,
    grad={
        wrt: f"scatter_reduce_{wrt}_grad(grad, self, dim, index, src, reduce, include_self, result)"
        for wrt in ("self", "src")
    },
    samples=[(T(3, 4), 0, at(2, 4, n=3), T(2, 4), mode) for mode in MODES]
    + [(T(3, 2), 1, at(3, 2, n=2), T(3, 4), mode, False) for mode in MODES],
    forms=FMI,
    tags="changes out:exact",
    doc="""Elements of ``src`` combined at ``out[index[i][j]][j]`` (for ``dim`` 0) by ``reduce``: "sum",
"prod", "mean", "amax" or "amin". Without ``include_self`` the elements that were there do not count.""",
)
op(
    "index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor",
    kernel=native,
    grad={
        "self": "scatter_reduce_self_grad(grad, self, dim, scatter_index(index, source.shape, dim), source, reduce, include_self, result)",
        "source": "scatter_reduce_src_grad(grad, self, dim, scatter_index(index, source.shape, dim), source, reduce, include_self, result)",
    },
    samples=[(T(3, 4), 0, at(5, n=3), T(5, 4), mode) for mode in MODES[1:]]
    + [(T(3, 4), 1, at(2, n=4), T(3, 2), mode, False) for mode in MODES[1:]],
    forms=FMI,
    tags="changes out:exact",
    doc="""Entries of ``source`` combined into entries ``index`` of a dimension by ``reduce``: "prod",
"mean", "amax" or "amin".""",
)
op(
    "segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor",
    kernel=composite,
    node="SegmentReduceBackward0",
    forms="function",
    doc="""Each segment of a dimension reduced to one entry by "sum", "mean", "max", "min" or "prod".
The segments follow each other: ``lengths`` or ``offsets`` say where they end, along their last dimension.""",
    example=""">>> flambeau.segment_reduce(flambeau.tensor([1.0, 2.0, 3.0]), "sum", lengths=flambeau.tensor([1, 2]))
tensor([1., 5.])""",
)
