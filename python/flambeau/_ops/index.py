"""Indexing: gather, scatter, masks, embedding."""

from __future__ import annotations

from .samples import T, at
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
    example="""
        >>> flambeau.zeros(3).index_put_((flambeau.tensor([1]),), flambeau.tensor(5.0))
        tensor([0., 5., 0.])
    """,
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
    doc="A copy with ``values`` at the indexed positions; with ``accumulate`` they are added.",
    example="""
        >>> flambeau.zeros(3).index_put((flambeau.tensor([1]),), flambeau.tensor(5.0))
        tensor([0., 5., 0.])
    """,
    forms=FM,
)
op(
    "index_select(Tensor self, int dim, Tensor index) -> Tensor",
    kernel=native,
    example="""
        >>> x = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> x.index_select(0, flambeau.tensor([1, 1]))
        tensor([[3., 4.],
                [3., 4.]])
    """,
    grad={"self": "index_add(zeros(self.shape, self.dtype, None), dim, index, grad, 1)"},
    forms=FM + " out",
    tags="apart out:exact",
    doc="Entries ``index`` of a dimension.",
)
op(
    "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
    kernel=native,
    example="""
        >>> flambeau.zeros(3).index_add(0, flambeau.tensor([0, 0]), flambeau.tensor([1.0, 2.0]))
        tensor([3., 0., 0.])
    """,
    grad={
        "self": "grad",
        "source": "index_select(grad, dim, index) * alpha if source.ndim > 0 else reshape(index_select(grad, dim, index), ()) * alpha",
    },
    forms=FMI + " out",
    tags="changes out:exact",
    doc="``alpha * source`` added to entries ``index`` of a dimension.",
)
op(
    "index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
    kernel=native,
    example="""
        >>> flambeau.zeros(3).index_copy(0, flambeau.tensor([2, 0]), flambeau.tensor([1.0, 2.0]))
        tensor([2., 0., 1.])
    """,
    grad={
        "self": "index_fill(grad, dim, index, 0)",
        "source": "index_select(grad, dim, index) if source.ndim > 0 else reshape(index_select(grad, dim, index), ())",
    },
    forms=FMI + " out",
    tags="changes autocast:promote out:exact",
    doc="Entries ``index`` of a dimension replaced by those of ``source``.",
)
op(
    "index_fill(Tensor self, int dim, Tensor index, Operand value) -> Tensor",
    kernel=native,
    node="IndexFillBackward1 if is_tensor(value) else IndexFillBackward0",
    example="""
        >>> x = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> x.index_fill(1, flambeau.tensor([0]), -1.0)
        tensor([[-1.,  2.],
                [-1.,  4.]])
    """,
    grad={
        "self": "index_fill(grad, dim, index, 0)",
        "value": "sum_all(index_select(grad, dim, distinct(index)))",
    },
    forms=FMI,
    tags="changes",
    doc="Entries ``index`` of a dimension set to ``value``.",
)
op(
    "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
    kernel=native,
    example="""
        >>> x = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> x.gather(1, flambeau.tensor([[0], [1]]))
        tensor([[1.],
                [4.]])
    """,
    grad={"self": "scatter_add(zeros(self.shape, self.dtype, None), dim, index, grad)"},
    samples=[],
    forms=FM + " out",
    tags="apart out:exact",
    doc="``out[i][j] = input[index[i][j]][j]`` (for ``dim`` 0).",
)
op(
    "scatter(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    kernel=native,
    example="""
        >>> flambeau.zeros(3).scatter(0, flambeau.tensor([2, 0]), flambeau.tensor([1.0, 2.0]))
        tensor([2., 0., 1.])
    """,
    grad={
        "self": "scatter_value(grad, dim, index, 0)",
        "src": "fit_index_grad(gather(grad, dim, index, False), src.shape)",
    },
    forms=FMI + " out",
    tags="changes out:exact",
    doc="``out[index[i][j]][j] = src[i][j]`` (for ``dim`` 0).",
)
op(
    "scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    kernel=native,
    node="ScatterBackward1",
    grad={"self": "scatter_value(grad, dim, index, 0)"},
    forms=FMI + " out",
    tags="changes out:exact",
)
op(
    "scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
    kernel=native,
    forms=FMI + " out",
    tags="changes out:exact",
)
op(
    "scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor",
    kernel=native,
    forms=FMI + " out",
    tags="changes out:exact",
)
op(
    "scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    kernel=native,
    example="""
        >>> flambeau.zeros(3).scatter_add(0, flambeau.tensor([2, 2]), flambeau.tensor([1.0, 2.0]))
        tensor([0., 0., 3.])
    """,
    grad={"self": "grad", "src": "fit_index_grad(gather(grad, dim, index, False), src.shape)"},
    forms=FMI + " out",
    tags="changes out:exact",
    doc="``out[index[i][j]][j] += src[i][j]`` (for ``dim`` 0).",
)
op(
    "masked_fill(Tensor self, Tensor mask, Operand value) -> Tensor",
    kernel=decomp("masked_filled(self, mask, value)"),
    node="MaskedFillBackward1 if is_tensor(value) else MaskedFillBackward0",
    example="""
        >>> x = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> x.masked_fill(x > 2, 0.0)
        tensor([[1., 2.],
                [0., 0.]])
    """,
    forms=FMI,
    samples=[],
    doc="``value`` where ``mask`` is true.",
)
op(
    "masked_select(Tensor self, Tensor mask) -> Tensor",
    kernel=decomp("selected_by_mask(self, mask)"),
    node="MaskedSelectBackward0",
    example="""
        >>> x = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> x.masked_select(x > 2)
        tensor([3., 4.])
    """,
    forms=FM + " out",
    tags="apart out:exact",
    doc="The elements where ``mask`` is true, in one dimension.",
)
op(
    "masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
    kernel=native,
    example="""
        >>> x = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> x.masked_scatter(x > 2, flambeau.tensor([-1.0, -2.0]))
        tensor([[ 1.,  2.],
                [-1., -2.]])
    """,
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
    tags="internal out:exact",
    doc="Positions of the elements that are not zero, one row each.",
)
op(
    "nonzero_static(Tensor self, *, int size, int fill_value=-1) -> Tensor",
    kernel=native,
    samples=[(T(2, 3), 4), (T(2, 3), 8, 7)],
    forms=FM + " out",
    doc="The first ``size`` rows of `nonzero`; rows of ``fill_value`` where there are fewer.",
    tags="out:exact",
)
op(
    "argwhere(Tensor self) -> Tensor",
    kernel=decomp("nonzero(self)"),
    doc="Positions of the elements that are not zero, one row each.",
    example="""
        >>> flambeau.argwhere(flambeau.tensor([0, 3, 0, 4]))
        tensor([[1],
                [3]])
    """,
    forms=FM,
)
op(
    "take(Tensor self, Tensor index) -> Tensor",
    kernel=decomp("take_flat(self, index)"),
    node="TakeBackward0",
    example="""
        >>> x = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> x.take(flambeau.tensor([0, 3]))
        tensor([1., 4.])
    """,
    forms=FM + " out",
    tags="apart out:exact",
    doc="Elements by position in the flattened tensor.",
)
op(
    "put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor",
    kernel=native,
    grad={
        "self": "grad if accumulate else put(grad, index, zeros(source.shape, self.dtype, None), False)",
        "source": "reshape(take(grad, index), source.shape)",
    },
    samples=[
        (T(2, 3), at(2, n=2), T(2), True),
        (T(6), at(1, n=6), T(1)),
        (T(), at(1, n=1), T(1)),
    ],
    forms=FMI,
    tags="changes",
    doc="Elements of ``source`` put at (or added to) positions of the flattened tensor.",
)
op(
    "take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor",
    kernel=decomp("taken_along(self, indices, dim)"),
    doc="Along ``dim`` the elements at ``indices``, which broadcast; without ``dim`` of the flat tensor.",
    example="""
        >>> x = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> x.take_along_dim(flambeau.tensor([[1], [0]]), 1)
        tensor([[2.],
                [3.]])
    """,
    forms=FM + " out",
    tags="out:exact",
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
    kernel=decomp("interleaved(self, repeats, dim, output_size)"),
    forms=FM,
)
op(
    "repeat_interleave.repeats(Tensor repeats, *, int? output_size=None) -> Tensor",
    kernel=decomp("repeat_counts(repeats, output_size)"),
    forms="function",
)
op(
    "select_scatter(Tensor self, Tensor src, int dim, int index) -> Tensor",
    kernel=decomp("with_part(self, src, select(self, dim, index))"),
    node="SelectScatterBackward0",
    doc="A copy in which ``src`` replaces the slice that `select` gives.",
    example="""
        >>> x = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> x.select_scatter(flambeau.zeros(2), 0, 1)
        tensor([[1., 2.],
                [0., 0.]])
    """,
    forms=FM,
)
op(
    "slice_scatter(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor",
    kernel=decomp("with_part(self, src, slice(self, dim, start, end, step))"),
    node="SliceScatterBackward0",
    doc="A copy in which ``src`` replaces a range along ``dim``.",
    example="""
        >>> flambeau.zeros(4).slice_scatter(flambeau.ones(2), 0, 1, 3)
        tensor([0., 1., 1., 0.])
    """,
    forms=FM,
)
op(
    "diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor",
    kernel=decomp("with_part(self, src, diagonal(self, offset, dim1, dim2))"),
    node="DiagonalScatterBackward0",
    doc="A copy in which ``src`` replaces the diagonal that `diagonal` gives.",
    example="""
        >>> flambeau.zeros(2, 2).diagonal_scatter(flambeau.ones(2))
        tensor([[1., 0.],
                [0., 1.]])
    """,
    forms=FM,
)
op(
    "as_strided_scatter(Tensor self, Tensor src, int[] size, int[] stride, int? storage_offset=None) -> Tensor",
    kernel=native,
    grad={
        "self": "as_strided_scatter_self_grad(grad, self, size, stride, storage_offset)",
        "src": "as_strided_scatter_src_grad(grad, self, size, stride, storage_offset)",
    },
    samples=[(T(6), T(2, 2), (2, 2), (2, 1)), (T(2, 3), T(2), (2,), (2,), 1)],
    forms=FM,
    doc="A copy in which ``src`` replaces what ``as_strided`` would show.",
)
op(
    "embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
    kernel=native,
    example="""
        >>> x = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> flambeau.nn.functional.embedding(flambeau.tensor([1, 0]), x)
        tensor([[3., 4.],
                [1., 2.]])
    """,
    grad={
        "weight": "embedding_grad(grad, indices, weight.shape, padding_idx, scale_grad_by_freq, sparse)"
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
    example="""
        >>> flambeau.nn.functional.one_hot(flambeau.tensor([0, 2]), 3)
        tensor([[1, 0, 0],
                [0, 0, 1]])
    """,
    forms="",
    doc="Class numbers as rows with a single one.",
)
