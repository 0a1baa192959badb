"""Statistics: quantiles, histograms, membership, combinations, renormalisation."""

from __future__ import annotations

from .samples import T
from .table import composite, native, op

FMO = "function method out"

for _name, _doc in (
    (
        "quantile",
        "Values below which the share ``q`` of the elements lies; NaN where any element is.",
    ),
    ("nanquantile", "`quantile` of the elements that are not NaN."),
):
    _tail = "int? dim=None, bool keepdim=False, *, str interpolation='linear'"
    op(
        f"{_name}(Tensor self, Tensor q, {_tail}) -> Tensor",
        kernel=composite,
        samples=[(T(5), T(2, low=0.1, high=0.9)), (T(3, 4), T(2, low=0.1, high=0.9), 1, True)],
        forms=FMO,
        tags="autocast:fp32 out:exact",
        doc=f"{_doc} Between two elements ``interpolation`` decides: linear, lower, higher, midpoint, nearest.",
    )
    op(
        f"{_name}.scalar(Tensor self, float q, {_tail}) -> Tensor",
        kernel=composite,
        samples=[(T(5), 0.3), (T(3, 4), 0.6, 0, False, "midpoint")],
        forms=FMO,
        tags="autocast:fp32 out:exact",
    )
op(
    "_histogram(Tensor self, Tensor[] edges, Tensor? weight, bool uniform, bool density) -> Tensor",
    kernel=native,
    forms="",
    tags="internal",
    doc="Counts (or weights) of points, the rows of a matrix, in the boxes between sorted ``edges``; they are"
    " found by division where ``uniform``.",
)
for _overload, _self, _test in (
    ("", "Tensor elements", "Tensor test_elements"),
    (".Tensor_Scalar", "Tensor elements", "Scalar test_element"),
    (".Scalar_Tensor", "Scalar element", "Tensor test_elements"),
):
    op(
        f"isin{_overload}({_self}, {_test}, *, bool assume_unique=False, bool invert=False) -> Tensor",
        kernel=composite,
        samples=[(T(2, 3), T(4))] if not _overload else [],
        forms="function out",
        doc="Whether each of ``elements`` is among ``test_elements`` (or with ``invert`` is not).",
        tags="out:exact",
    )
op(
    "combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor",
    kernel=composite,
    samples=[(T(4),), (T(3), 3, True), (T(2), 4), (T(3), 0)],
    forms="function",
    doc="All choices of ``r`` elements of a vector, one row each.",
)
op(
    "renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor",
    kernel=composite,
    samples=[(T(2, 3), 2, 0, 1.5), (T(2, 3, 2), 1, -1, 2)],
    forms="function method inplace out",
    doc="Slices along ``dim`` whose p-norm exceeds ``maxnorm`` scaled down to it.",
    tags="out:exact",
)
