"""Views: other shapes and strides over the same memory."""

from __future__ import annotations

from .samples import T
from .table import composite, decomp, native, op, view

FM = "function method"

# ---- shape -------------------------------------------------------------------------------------------
op(
    "view(Tensor self, int[] size) -> Tensor",
    kernel=view,
    grad={"self": "reshape(grad, self.shape)"},
    samples=[(T(2, 6), (3, 4)), (T(4), (2, -1)), (T(0, 3), (3, 0)), (T(), (1, 1))],
    forms="method",
    doc="The same elements with another shape, never a copy; one size may be -1.",
)
op(
    "view.dtype(Tensor self, dtype dtype) -> Tensor",
    kernel=view,
    forms="method",
    samples=[],
)
op(
    "reshape(Tensor self, int[] shape) -> Tensor",
    kernel=composite,
    samples=[(T(2, 6), (3, 4)), (T(4), (2, -1)), (T(0, 3), (3, 0))],
    forms=FM,
    doc="The same elements with another shape: a view when strides allow, else a copy.",
)
op(
    "view_as(Tensor self, Tensor other) -> Tensor",
    kernel=decomp("view(self, shape_of(other))"),
    doc="The same elements in the shape of ``other``, without a copy.",
    forms="method",
    samples=[(T(2, 3), T(3, 2))],
)
op(
    "reshape_as(Tensor self, Tensor other) -> Tensor",
    kernel=decomp("reshape(self, shape_of(other))"),
    doc="The same elements in the shape of ``other``; a view where that is possible.",
    forms="method",
    samples=[(T(2, 3), T(3, 2))],
)
op(
    "flatten(Tensor self, int start_dim=0, int end_dim=-1) -> Tensor",
    kernel=composite,
    samples=[(T(2, 3, 4),), (T(2, 3, 4), 1), (T(),)],
    forms=FM,
    doc="Dimensions from ``start_dim`` to ``end_dim`` merged into one.",
)
op(
    "unflatten(Tensor self, int dim, int[] sizes) -> Tensor",
    kernel=composite,
    samples=[(T(2, 6), 1, (2, 3)), (T(2, 6), -1, (3, -1))],
    forms=FM,
    doc="A dimension split into several; one of the sizes may be -1.",
)
op(
    "ravel(Tensor self) -> Tensor",
    kernel=decomp("reshape(self, (-1,))"),
    forms=FM,
    samples=[(T(2, 3),)],
    doc="One dimension.",
)
op(
    "permute(Tensor self, int[] dims) -> Tensor",
    kernel=view,
    grad={"self": "permute(grad, inverse_permutation(dims))"},
    samples=[(T(2, 3, 4), (2, 0, 1)), (T(2, 3), (-1, 0))],
    forms=FM,
    doc="Dimensions in the given order.",
)
op(
    "transpose(Tensor self, int dim0, int dim1) -> Tensor",
    kernel=view,
    grad={"self": "transpose(grad, dim0, dim1)"},
    samples=[(T(2, 3, 4), 0, 2), (T(2, 3), -1, -2), (T(), 0, 0)],
    forms=FM,
    alias="swapaxes swapdims",
    doc="Two dimensions exchanged.",
)
op(
    "t(Tensor self) -> Tensor",
    kernel=composite,
    node="TBackward0",
    forms=FM,
    samples=[(T(2, 3),), (T(3),), (T(),)],
    doc="Transpose of a matrix; 0-d and 1-d tensors stay.",
)
op(
    "adjoint(Tensor self) -> Tensor",
    kernel=decomp("mH(self)"),
    forms=FM,
    samples=[(T(2, 3),)],
    doc="Conjugate transpose of the last two dimensions.",
)
op("numpy_T(Tensor self) -> Tensor", kernel=composite, forms="", tags="internal")
op("mT(Tensor self) -> Tensor", kernel=composite, forms="", tags="internal")
op("mH(Tensor self) -> Tensor", kernel=decomp("conj(mT(self))"), forms="", tags="internal")
op("matrix_H(Tensor self) -> Tensor", kernel=composite, forms="", tags="internal")
op(
    "movedim(Tensor self, int[] source, int[] destination) -> Tensor",
    kernel=composite,
    samples=[(T(2, 3, 4), (0, 1), (2, 0))],
    forms=FM,
    alias="moveaxis",
    doc="Dimensions moved to other positions.",
)
op(
    "expand(Tensor self, int[] size, *, bool implicit=False) -> Tensor",
    kernel=view,
    grad={"self": "sum_to_size(grad, self.shape)"},
    samples=[(T(3, 1), (3, 4)), (T(3), (2, 3)), (T(), (2,)), (T(1, 3), (2, -1))],
    forms="method",
    doc="Dimensions of size 1 repeated without a copy.",
)
op(
    "expand_as(Tensor self, Tensor other) -> Tensor",
    kernel=decomp("expand(self, shape_of(other), False)"),
    doc="A view that repeats dimensions of size 1 up to the shape of ``other``.",
    forms="method",
    samples=[(T(3, 1), T(3, 4))],
)
op(
    "broadcast_to(Tensor self, int[] size) -> Tensor",
    kernel=decomp("expand(self, size, False)"),
    forms=FM,
    samples=[(T(3, 1), (3, 4))],
    doc="Alias of expand as a function.",
)
op(
    "unsqueeze(Tensor self, int dim) -> Tensor",
    kernel=view,
    grad={"self": "reshape(grad, self.shape)"},
    samples=[(T(2, 3), 0), (T(2, 3), -1), (T(), 0)],
    forms=FM,
    doc="A new dimension of size 1.",
)
op(
    "squeeze(Tensor self) -> Tensor",
    kernel=view,
    grad={"self": "reshape(grad, self.shape)"},
    samples=[(T(2, 1, 3, 1),), (T(),)],
    forms=FM,
    doc="Dimensions of size 1 dropped: all, or those named.",
)
op(
    "squeeze.dim(Tensor self, int dim) -> Tensor",
    kernel=view,
    node="SqueezeBackward1",
    grad={"self": "reshape(grad, self.shape)"},
    samples=[(T(2, 1, 3), 1), (T(2, 1), 0), (T(), 0)],
    forms=FM,
)
op(
    "squeeze.dims(Tensor self, int[] dim) -> Tensor",
    kernel=view,
    node="SqueezeBackward2",
    grad={"self": "reshape(grad, self.shape)"},
    samples=[(T(2, 1, 3, 1), (1, 3))],
    forms=FM,
)

# ---- parts -------------------------------------------------------------------------------------------
op(
    "select(Tensor self, int dim, int index) -> Tensor",
    kernel=view,
    grad={"self": "select_grad(grad, self.shape, dim, index)"},
    samples=[(T(2, 3), 0, 1), (T(2, 3), -1, -1)],
    forms=FM,
    doc="One slice of a dimension, which goes away.",
)
op(
    "slice(Tensor self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor",
    kernel=view,
    grad={"self": "slice_grad(grad, self.shape, dim, start, end, step)"},
    samples=[(T(5, 3), 0, 1, 4, 2), (T(5), 0, -3, None, 1), (T(4), 0, 3, 1, 1)],
    forms="",
    tags="internal",
)
op(
    "narrow(Tensor self, int dim, int start, int length) -> Tensor",
    kernel=composite,
    samples=[(T(5, 3), 0, 1, 2), (T(5, 3), -1, -2, 2)],
    forms=FM,
    doc="``length`` entries of a dimension from ``start``.",
)
op(
    "narrow.Tensor(Tensor self, int dim, Tensor start, int length) -> Tensor",
    kernel=composite,
    forms=FM,
)
op(
    "narrow_copy(Tensor self, int dim, int start, int length) -> Tensor",
    kernel=composite,
    node="NarrowCopyBackward0",
    samples=[(T(5, 3), 0, 1, 2), (T(5, 3), -1, -2, 2)],
    forms=FM + " out",
    doc="``narrow`` as a copy.",
)
op(
    "unbind(Tensor self, int dim=0) -> Tensor[]",
    kernel=view,
    grad={"self": "unbind_grads(grads, dim)"},
    samples=[(T(3, 2),), (T(3, 2), -1)],
    forms=FM,
    doc="The slices of a dimension as a tuple.",
)
op(
    "_split(Tensor self, int[] sizes, int dim=0) -> Tensor[]",
    kernel=view,
    grad={"self": "split_grads(grads, self.shape, dim)"},
    samples=[(T(5, 2), (2, 3), 0)],
    forms="",
    tags="internal",
)
op(
    "split(Tensor self, int split_size_or_sections, int dim=0) -> Tensor[]",
    kernel=composite,
    samples=[(T(5, 2), 2), (T(2, 5), 3, 1)],
    forms=FM,
    doc="Pieces of the given size (the last may be smaller), or of the given sizes.",
)
op(
    "split.sizes(Tensor self, int[] split_size_or_sections, int dim=0) -> Tensor[]",
    kernel=composite,
    node="SplitWithSizesBackward0",
    samples=[(T(5, 2), (1, 4))],
    forms=FM,
)
op(
    "split_with_sizes(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]",
    kernel=decomp("_split(self, split_sizes, dim)"),
    node="SplitWithSizesBackward0",
    doc="Views of consecutive parts of given sizes along ``dim``.",
    forms=FM,
    samples=[(T(5, 2), (1, 4))],
)
op(
    "chunk(Tensor self, int chunks, int dim=0) -> Tensor[]",
    kernel=composite,
    samples=[(T(5, 2), 2), (T(4), 6)],
    forms=FM,
    doc="At most ``chunks`` pieces of equal size.",
)
op(
    "tensor_split(Tensor self, int indices_or_sections, int dim=0) -> Tensor[]",
    kernel=composite,
    node="SliceBackward0",
    samples=[(T(7, 2), 3)],
    forms=FM,
    doc="Pieces as NumPy's array_split.",
)
op(
    "tensor_split.indices(Tensor self, int[] indices_or_sections, int dim=0) -> Tensor[]",
    kernel=composite,
    node="SliceBackward0",
    samples=[(T(7, 2), (1, 4))],
    forms=FM,
)
op(
    "tensor_split.tensor(Tensor self, Tensor indices_or_sections, int dim=0) -> Tensor[]",
    kernel=composite,
    node="SliceBackward0",
    forms=FM,
)
for _name, _dim in (("hsplit", 1), ("vsplit", 0), ("dsplit", 2)):
    op(
        f"{_name}(Tensor self, int sections) -> Tensor[]",
        kernel=decomp(f'axis_split("{_name}", self, sections, {_dim})'),
        node="SliceBackward0",
        doc=f"Views of parts along dimension {_dim}: that many equal ones, or cut at given places.",
        example=f">>> flambeau.ones(4, 4, 4).{_name}(2)[1].shape",
        forms=FM,
    )
    op(
        f"{_name}.indices(Tensor self, int[] indices) -> Tensor[]",
        kernel=decomp(f'axis_split("{_name}", self, indices, {_dim})'),
        node="SliceBackward0",
        forms=FM,
    )
op(
    "diagonal(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor",
    kernel=view,
    grad={"self": "diagonal_grad(grad, self.shape, offset, dim1, dim2)"},
    samples=[(T(3, 4),), (T(3, 4), 1), (T(2, 3, 4), -1, 1, 2)],
    forms=FM,
    doc="The diagonal of two dimensions as a last dimension.",
)
op(
    "unfold(Tensor self, int dimension, int size, int step) -> Tensor",
    kernel=view,
    grad={"self": "unfold_grad(grad, self.shape, dimension, size, step)"},
    samples=[(T(5, 2), 0, 2, 1), (T(6), 0, 3, 3)],
    forms="method",
    doc="Windows of ``size`` along a dimension, every ``step`` entries, as a last dimension.",
)
op(
    "as_strided(Tensor self, int[] size, int[] stride, int? storage_offset=None) -> Tensor",
    kernel=view,
    grad={"self": "as_strided_grad(grad, self, size, stride, storage_offset)"},
    samples=[(T(6), (2, 2), (2, 1))],
    forms=FM,
    doc="Any sizes and strides (in elements) over the storage.",
)
op(
    "_strided_scatter(Tensor self, int[] base_size, int[] base_stride, int base_offset, int[] size, int[] stride, int offset) -> Tensor",
    kernel=native,
    grad={
        "self": "_strided_gather(grad, base_size, base_stride, base_offset, size, stride, offset)"
    },
    forms="",
    tags="internal",
    doc="Zeros of the base's shape, with the elements of a view of it added where the view points.",
)
op(
    "_strided_gather(Tensor self, int[] base_size, int[] base_stride, int base_offset, int[] size, int[] stride, int offset) -> Tensor",
    kernel=native,
    grad={
        "self": "_strided_scatter(grad, base_size, base_stride, base_offset, size, stride, offset)"
    },
    forms="",
    tags="internal",
    doc="The elements that a view with the given geometry shows of a base, as a copy.",
)
op(
    "detach(Tensor self) -> Tensor",
    kernel=composite,
    example="""
        >>> flambeau.ones(1, requires_grad=True).detach()
        tensor([1.])
    """,
    forms=FM,
    samples=[],
    doc="The same memory outside of the graph.",
)
op(
    "alias(Tensor self) -> Tensor",
    kernel=view,
    grad={"self": "grad"},
    samples=[(T(2, 3),)],
    forms="",
    tags="internal",
)
op(
    "real(Tensor self) -> Tensor",
    kernel=composite,
    forms="function",
    samples=[(T(2, 3),)],
    doc="The real part: a view of complex tensors, the tensor itself otherwise.",
)
op(
    "imag(Tensor self) -> Tensor",
    kernel=composite,
    example="""
        >>> flambeau.tensor([1 + 2j]).imag
        tensor([2.])
    """,
    forms="function",
    samples=[],
    doc="The imaginary part of a complex tensor, a view.",
)
op(
    "view_as_real(Tensor self) -> Tensor",
    kernel=view,
    example="""
        >>> flambeau.view_as_real(flambeau.tensor([1 + 2j]))
        tensor([[1., 2.]])
    """,
    grad={"self": "view_as_complex(contiguous(grad, None))"},
    samples=[],
    forms="function",
    doc="Complex numbers as a last dimension of two reals.",
)
op(
    "view_as_complex(Tensor self) -> Tensor",
    kernel=view,
    example="""
        >>> flambeau.view_as_complex(flambeau.tensor([[1.0, 2.0]]))
        tensor([1.+2.j])
    """,
    grad={"self": "view_as_real(grad)"},
    samples=[],
    forms="function",
    tags="autocast:fp32",
    doc="A last dimension of two reals as complex numbers.",
)
op(
    "atleast_1d(Tensor self) -> Tensor",
    kernel=decomp("at_least(self, 1)"),
    forms="",
    tags="internal",
)
op(
    "atleast_2d(Tensor self) -> Tensor",
    kernel=decomp("at_least(self, 2)"),
    forms="",
    tags="internal",
)
op(
    "atleast_3d(Tensor self) -> Tensor",
    kernel=decomp("at_least(self, 3)"),
    forms="",
    tags="internal",
)
op(
    "conj(Tensor self) -> Tensor",
    kernel=composite,
    forms=FM,
    samples=[(T(2, 3),)],
    doc="Complex conjugate; real tensors are returned as they are.",
)
op(
    "resolve_conj(Tensor self) -> Tensor",
    kernel=decomp("itself(self)"),
    doc="The tensor itself: conjugation is never put off here.",
    example="""
        >>> flambeau.tensor([1 + 2j]).conj().resolve_conj()
        tensor([1.-2.j])
    """,
    forms=FM,
    samples=[],
)
op(
    "resolve_neg(Tensor self) -> Tensor",
    kernel=decomp("itself(self)"),
    doc="The tensor itself: negation is never put off here.",
    example="""
        >>> flambeau.tensor([1.0]).resolve_neg()
        tensor([1.])
    """,
    forms=FM,
    samples=[],
)
op(
    "positive(Tensor self) -> Tensor",
    kernel=composite,
    forms=FM,
    samples=[(T(2, 3),)],
    doc="The tensor itself.",
)
op(
    "unsafe_split(Tensor self, int split_size, int dim=0) -> Tensor[]",
    kernel=decomp("split(self, split_size, dim)"),
    node="UnsafeSplitBackward0",
    samples=[(T(5, 2), 2)],
    forms=FM,
    doc="Same as `split`; the parts do not count as views of one tensor in PyTorch.",
)
op(
    "unsafe_split_with_sizes(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]",
    kernel=decomp("_split(self, split_sizes, dim)"),
    node="UnsafeSplitWithSizesBackward0",
    samples=[(T(5, 2), (1, 4))],
    forms=FM,
    doc="Same as `split_with_sizes`; the parts do not count as views of one tensor in PyTorch.",
)
op(
    "unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]",
    kernel=decomp("chunk(self, chunks, dim)"),
    node="UnsafeSplitBackward0",
    doc="Same as `chunk`; the parts do not count as views of one tensor in PyTorch.",
    example="""
        >>> flambeau.arange(4).unsafe_chunk(2)
        (tensor([0, 1]), tensor([2, 3]))
    """,
    forms=FM,
)

# ---- views in place: the tensor itself gets the new shape ------------------------------------------------
op(
    "unsqueeze_(Tensor! self, int dim) -> Tensor",
    kernel=decomp("become(self, unsqueeze(self, dim))"),
    doc="Adds a dimension of size 1 to the tensor itself.",
    example="""
        >>> flambeau.ones(2).unsqueeze_(0)
        tensor([[1., 1.]])
    """,
    forms="method",
)
op(
    "squeeze_(Tensor! self) -> Tensor",
    kernel=decomp("become(self, squeeze(self))"),
    doc="Removes dimensions of size 1 from the tensor itself.",
    example="""
        >>> flambeau.ones(1, 2).squeeze_()
        tensor([1., 1.])
    """,
    forms="method",
)
op(
    "squeeze_.dim(Tensor! self, int dim) -> Tensor",
    kernel=decomp("become(self, squeeze_dim(self, dim))"),
    forms="method",
)
op(
    "squeeze_.dims(Tensor! self, int[] dim) -> Tensor",
    kernel=decomp("become(self, squeeze_dims(self, dim))"),
    forms="method",
)
op(
    "t_(Tensor! self) -> Tensor",
    kernel=decomp("become(self, t(self))"),
    doc="Transposes the tensor itself, of at most 2 dimensions.",
    example="""
        >>> flambeau.arange(4).reshape(2, 2).t_()
        tensor([[0, 2],
                [1, 3]])
    """,
    forms="method",
)
op(
    "transpose_(Tensor! self, int dim0, int dim1) -> Tensor",
    kernel=decomp("become(self, transpose(self, dim0, dim1))"),
    doc="Exchanges two dimensions of the tensor itself.",
    example="""
        >>> flambeau.arange(4).reshape(2, 2).transpose_(0, 1)
        tensor([[0, 2],
                [1, 3]])
    """,
    forms="method",
    alias="swapaxes_ swapdims_",
)
op(
    "as_strided_(Tensor! self, int[] size, int[] stride, int? storage_offset=None) -> Tensor",
    kernel=decomp("become(self, as_strided(self, size, stride, storage_offset))"),
    doc="Gives the tensor itself another size, strides and offset on its storage.",
    example="""
        >>> flambeau.arange(4).as_strided_((2, 2), (1, 2))
        tensor([[0, 2],
                [1, 3]])
    """,
    forms=FM,
)
op(
    "resize_(Tensor! self, int[] size, *, memory_format? memory_format=None) -> Tensor",
    kernel=composite,
    example="""
        >>> flambeau.arange(4).resize_(2, 2)
        tensor([[0, 1],
                [2, 3]])
    """,
    forms="method",
    doc="Another shape in place; elements keep their place in memory, new ones are uninitialised.",
)
op(
    "resize_as_(Tensor! self, Tensor other, *, memory_format? memory_format=None) -> Tensor",
    kernel=decomp("resize_(self, shape_of(other), memory_format)"),
    doc="Resizes the tensor to the size of ``other``; new elements are uninitialised.",
    example="""
        >>> flambeau.arange(4).resize_as_(flambeau.empty(2, 2))
        tensor([[0, 1],
                [2, 3]])
    """,
    forms="function method",
)
op(
    "set_(Tensor! self, Tensor source) -> Tensor",
    kernel=composite,
    example="""
        >>> flambeau.empty(0).set_(flambeau.ones(2))
        tensor([1., 1.])
    """,
    forms="method",
    doc="Shows the memory that ``source`` shows.",
)
