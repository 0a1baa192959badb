"""Sorting, selection by rank, search in sorted sequences, unique values."""

from __future__ import annotations

from .samples import T
from .table import decomp, native, op

FM = "function method"
FMO = "function method out"
PAIR = "(Tensor values, Tensor indices)"
PICK = {"self": "scatter_dim(grads[0], self.shape, dim, results[1])"}
PICK_ONE = {"self": "selected_grad(grads[0], self.shape, dim, results[1], keepdim)"}

op(
    f"sort(Tensor self, int dim=-1, bool descending=False) -> {PAIR}",
    kernel=decomp("sort_stable(self, True, dim, descending)"),
    node="SortBackward0",
    samples=[(T(2, 3),), (T(2, 3), 0, True), (T(),)],
    forms=FMO,
    doc="The elements in order, and where they stood. NaN counts as the largest; the order of equals is kept.",
    tags="out:exact",
)
op(
    f"sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> {PAIR}",
    kernel=native,
    node="SortBackward1",
    grad=PICK,
    forms=FMO,
    tags="out:exact",
)
op(
    "argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor",
    kernel=decomp("second_of(sort_stable(self, True, dim, descending))"),
    samples=[(T(2, 3),)],
    forms=FM,
    doc="Positions that would sort the elements.",
    tags="out:exact",
)
op(
    "argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor",
    kernel=decomp("second_of(sort_stable(self, stable, dim, descending))"),
    forms=FMO,
    tags="out:exact",
)
op(
    "msort(Tensor self) -> Tensor",
    kernel=decomp("first_of(sort_stable(self, True, 0, False))"),
    samples=[(T(3, 2),)],
    forms=FMO,
    doc="`sort` along the first dimension, without positions.",
    tags="out:exact",
)
op(
    f"topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> {PAIR}",
    kernel=native,
    grad=PICK,
    samples=[(T(2, 5), 2), (T(5, 2), 3, 0, False)],
    forms=FMO,
    doc="The k largest (or smallest) elements in order, and where they stood.",
    tags="out:exact",
)
op(
    f"kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False) -> {PAIR}",
    kernel=native,
    grad=PICK_ONE,
    samples=[(T(2, 5), 2), (T(5, 2), 3, 0, True)],
    forms=FMO,
    doc="The k-th smallest element (counted from 1), and where it stood.",
    tags="out:exact",
)
for _name, _doc in (
    ("median", "Median; the lower one of an even number. NaN if any element is."),
    ("nanmedian", "Median of the elements that are not NaN."),
):
    op(
        f"{_name}(Tensor self) -> Tensor",
        kernel=native,
        grad={"self": "median_grad(grad, self, result)"},
        samples=[(T(5),), (T(2, 3),)],
        forms=FM,
        doc=_doc,
    )
    op(
        f"{_name}.dim(Tensor self, int dim, bool keepdim=False) -> {PAIR}",
        kernel=native,
        node=f"{_name.capitalize()}Backward1",
        grad=PICK_ONE,
        samples=[(T(2, 3), 1), (T(2, 3), 0, True)],
        forms=FMO,
        tags="out:exact",
    )
op(
    f"mode(Tensor self, int dim=-1, bool keepdim=False) -> {PAIR}",
    kernel=native,
    grad=PICK_ONE,
    samples=[(T(2, 3),)],
    forms=FMO,
    doc="The most frequent element, the smallest one among several, and where it stood last.",
    tags="out:exact",
)
_SEARCH = "*, bool out_int32=False, bool right=False"
op(
    f"searchsorted(Tensor sorted_sequence, Tensor self, {_SEARCH}, str? side=None, Tensor? sorter=None) -> Tensor",
    kernel=native,
    samples=[(T(4), T(3))],
    forms="function out",
    doc="Where values would be inserted to keep the last dimension sorted: before equals, or after with ``right``.",
    tags="out:exact",
)
op(
    f"searchsorted.Scalar(Tensor sorted_sequence, Scalar self, {_SEARCH}, str? side=None, Tensor? sorter=None) -> Tensor",
    kernel=decomp(
        "searchsorted(sorted_sequence, number_like(self, sorted_sequence), out_int32, right, side, sorter)"
    ),
    forms="function out",
    tags="out:exact",
)
op(
    f"bucketize(Tensor self, Tensor boundaries, {_SEARCH}) -> Tensor",
    kernel=decomp("bucketed(boundaries, self, out_int32, right)"),
    samples=[(T(3), T(4))],
    forms="function out",
    doc="The interval between sorted boundaries that each element falls into.",
    tags="out:exact",
)
op(
    f"bucketize.Scalar(Scalar self, Tensor boundaries, {_SEARCH}) -> Tensor",
    kernel=decomp("bucketed(boundaries, number_like(self, boundaries), out_int32, right)"),
    forms="function out",
    tags="out:exact",
)
op(
    "_unique(Tensor self, bool consecutive, int? dim) -> (Tensor, Tensor, Tensor)",
    kernel=native,
    forms="",
    tags="internal",
    doc="Different values (or slices along ``dim``), the number of each element's value, and counts.",
)
