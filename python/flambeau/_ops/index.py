"""Indexing: gather, scatter, masks, embedding."""

from __future__ import annotations

from .samples import T
from .table import decomp, native, op

FM = "function method"
FMI = "function method inplace"

op(
    "index(Tensor self, Tensor?[] indices) -> Tensor",
    kernel=native,
    grad={"self": "index_grad(grad, self.shape, indices)"},
    forms="",
    tags="internal any_device",
    doc="NumPy's advanced indexing: index tensors broadcast together, masks count as their nonzero positions.",
)
op(
    "index_put_(Tensor! self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    kernel=native,
    grad={
        "self": "grad if accumulate else index_put_(clone(grad, None), indices, zeros((), values.dtype, None), False)",
        "values": "index(grad, indices)",
    },
    forms=FM,
    tags="any_device",
    doc="``input[indices] = values``, or added there with ``accumulate``.",
)
op(
    "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    kernel=decomp("index_put_(clone(self, None), indices, values, accumulate)"),
    forms=FM,
)
op(
    "index_select(Tensor self, int dim, Tensor index) -> Tensor",
    kernel=native,
    grad={"self": "index_add(zeros(self.shape, self.dtype, None), dim, index, grad, 1)"},
    forms=FM + " out",
    doc="Entries ``index`` of a dimension.",
)
op(
    "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
    kernel=native,
    grad={
        "self": "grad",
        "source": "index_select(grad, dim, index) * alpha if source.ndim > 0 else reshape(index_select(grad, dim, index), ()) * alpha",
    },
    forms=FMI + " out",
    doc="``alpha * source`` added to entries ``index`` of a dimension.",
)
op(
    "index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
    kernel=native,
    grad={
        "self": "index_fill(grad, dim, index, 0)",
        "source": "index_select(grad, dim, index) if source.ndim > 0 else reshape(index_select(grad, dim, index), ())",
    },
    forms=FMI + " out",
    doc="Entries ``index`` of a dimension replaced by those of ``source``.",
)
op(
    "index_fill(Tensor self, int dim, Tensor index, Operand value) -> Tensor",
    kernel=native,
    node="IndexFillBackward1 if is_tensor(value) else IndexFillBackward0",
    grad={
        "self": "index_fill(grad, dim, index, 0)",
        "value": "sum_all(index_select(grad, dim, distinct(index)))",
    },
    forms=FMI,
    doc="Entries ``index`` of a dimension set to ``value``.",
)
op(
    "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
    kernel=native,
    grad={"self": "scatter_add(zeros(self.shape, self.dtype, None), dim, index, grad)"},
    samples=[],
    forms=FM + " out",
    doc="``out[i][j] = input[index[i][j]][j]`` (for ``dim`` 0).",
)
op(
    "scatter(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    kernel=native,
    grad={
        "self": "scatter_value(grad, dim, index, 0)",
        "src": "fit_index_grad(gather(grad, dim, index, False), src.shape)",
    },
    forms=FMI + " out",
    doc="``out[index[i][j]][j] = src[i][j]`` (for ``dim`` 0).",
)
op(
    "scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    kernel=native,
    node="ScatterBackward1",
    grad={"self": "scatter_value(grad, dim, index, 0)"},
    forms=FMI + " out",
)
op(
    "scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
    kernel=native,
    forms=FMI + " out",
)
op(
    "scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor",
    kernel=native,
    forms=FMI + " out",
)
op(
    "scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    kernel=native,
    grad={"self": "grad", "src": "fit_index_grad(gather(grad, dim, index, False), src.shape)"},
    forms=FMI + " out",
    doc="``out[index[i][j]][j] += src[i][j]`` (for ``dim`` 0).",
)
op(
    "masked_fill(Tensor self, Tensor mask, Operand value) -> Tensor",
    kernel=decomp("masked_filled(self, mask, value)"),
    node="MaskedFillBackward1 if is_tensor(value) else MaskedFillBackward0",
    forms=FMI,
    samples=[],
    doc="``value`` where ``mask`` is true.",
)
op(
    "masked_select(Tensor self, Tensor mask) -> Tensor",
    kernel=decomp("selected_by_mask(self, mask)"),
    node="MaskedSelectBackward0",
    forms=FM + " out",
    doc="The elements where ``mask`` is true, in one dimension.",
)
op(
    "masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
    kernel=native,
    grad={
        "self": "masked(grad, logical_not(mask))",
        "source": "masked_scatter_grad(grad, mask, source.shape)",
    },
    forms=FMI,
    doc="Elements where ``mask`` is true replaced by those of ``source`` in order.",
)
op(
    "nonzero(Tensor self) -> Tensor",
    kernel=native,
    forms=FM,
    tags="internal",
    doc="Positions of the elements that are not zero, one row each.",
)
op("argwhere(Tensor self) -> Tensor", kernel=decomp("nonzero(self)"), forms=FM)
op(
    "take(Tensor self, Tensor index) -> Tensor",
    kernel=decomp("take_flat(self, index)"),
    node="TakeBackward0",
    forms=FM + " out",
    doc="Elements by position in the flattened tensor.",
)
op(
    "take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor",
    kernel=decomp("taken_along(self, indices, dim)"),
    forms=FM + " out",
)
op(
    "repeat_interleave(Tensor self, int repeats, int? dim=None, *, int? output_size=None) -> Tensor",
    kernel=decomp("interleaved(self, repeats, dim)"),
    forms=FM,
    samples=[(T(2, 3), 2, 1), (T(3), 2)],
    doc="Each entry repeated in place.",
)
op(
    "repeat_interleave.Tensor(Tensor self, Tensor repeats, int? dim=None, *, int? output_size=None) -> Tensor",
    kernel=decomp("interleaved(self, repeats, dim)"),
    forms=FM,
)
op(
    "repeat_interleave.repeats(Tensor repeats, *, int? output_size=None) -> Tensor",
    kernel=decomp("repeat_counts(repeats)"),
    forms="function",
)
op(
    "select_scatter(Tensor self, Tensor src, int dim, int index) -> Tensor",
    kernel=decomp("with_part(self, src, select(self, dim, index))"),
    node="SelectScatterBackward0",
    forms=FM,
)
op(
    "slice_scatter(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor",
    kernel=decomp("with_part(self, src, slice(self, dim, start, end, step))"),
    node="SliceScatterBackward0",
    forms=FM,
)
op(
    "diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor",
    kernel=decomp("with_part(self, src, diagonal(self, offset, dim1, dim2))"),
    node="DiagonalScatterBackward0",
    forms=FM,
)
op(
    "embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
    kernel=native,
    grad={
        "weight": "embedding_backward(grad, indices, weight.shape, padding_idx, scale_grad_by_freq)"
    },
    forms="function",
    doc="Rows of ``weight`` by number.",
)
op(
    "embedding_backward(Tensor grad_output, Tensor indices, int[] size, int padding_idx, bool scale_grad_by_freq) -> Tensor",
    kernel=native,
    grad={"grad_output": "embedding_masked(grad, indices, padding_idx, scale_grad_by_freq)"},
    forms="",
    tags="internal",
)
op(
    "one_hot(Tensor self, int num_classes=-1) -> Tensor",
    kernel=native,
    forms="",
    doc="Class numbers as rows with a single one.",
)
