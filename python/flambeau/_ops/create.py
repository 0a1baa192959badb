"""Creation, copies and conversions."""

from __future__ import annotations

from .samples import T
from .table import FACTORY, LIKE, composite, decomp, native, op

FM = "function method"


def factory(name, arguments, kernel="native", **fields):
    op(
        f"{name}({arguments}, {FACTORY}) -> Tensor",
        kernel=native if kernel == "native" else composite,
        forms="function out",
        **fields,
    )


# ---- filled ------------------------------------------------------------------------------------------
op(
    f"empty(int[] size, {LIKE}) -> Tensor",
    kernel=native,
    example="""
        >>> flambeau.empty(2, 3).shape
        torch.Size([2, 3])
    """,
    forms="function out",
    doc="Uninitialised tensor.",
)
op(
    f"empty_permuted(int[] size, int[] physical_layout, {FACTORY}) -> Tensor",
    kernel=composite,
    example="""
        >>> flambeau.empty_permuted((2, 3, 4), (2, 0, 1)).stride()
        (3, 1, 6)
    """,
    forms="function",
    doc="Uninitialised dense tensor; ``physical_layout`` names its dimensions from the outermost in memory.",
)
op(
    f"empty_strided(int[] size, int[] stride, {FACTORY}) -> Tensor",
    kernel=native,
    example="""
        >>> flambeau.empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
    """,
    forms="function",
    doc="Uninitialised tensor with the given strides.",
)
factory(
    "zeros", "int[] size", doc="Tensor of zeros.", example=">>> flambeau.zeros(2)\ntensor([0., 0.])"
)
factory(
    "ones", "int[] size", doc="Tensor of ones.", example=">>> flambeau.ones(2)\ntensor([1., 1.])"
)
factory(
    "full",
    "int[] size, Scalar fill_value",
    doc="Tensor of one value; its dtype follows the value.",
    example=">>> flambeau.full((2,), 7)\ntensor([7, 7])",
)
for _name, _doc in (("empty", "uninitialised"), ("zeros", "of zeros"), ("ones", "of ones")):
    op(
        f"{_name}_like(Tensor self, {LIKE}) -> Tensor",
        kernel=native,
        forms="function",
        doc=f"Tensor {_doc} with the shape, dtype and layout of ``input``.",
        example=f">>> flambeau.{_name}_like(flambeau.zeros(2, dtype=flambeau.int64)).dtype\ntorch.int64",
    )
op(
    f"full_like(Tensor self, Scalar fill_value, {LIKE}) -> Tensor",
    kernel=native,
    example="""
        >>> flambeau.full_like(flambeau.ones(2), 7)
        tensor([7., 7.])
    """,
    forms="function",
    doc="Tensor of one value with the shape, dtype and layout of ``input``.",
)
op(
    f"new_empty(Tensor self, int[] size, {FACTORY}) -> Tensor",
    kernel=decomp("empty(size, dtype_or(dtype, self), device_or(device, self), None)"),
    doc="An uninitialised tensor of this one's dtype and device.",
    example="""
        >>> flambeau.ones(1).new_empty(2, 3).shape
        torch.Size([2, 3])
    """,
    forms="method",
)
op(
    f"new_zeros(Tensor self, int[] size, {FACTORY}) -> Tensor",
    kernel=decomp("zeros(size, dtype_or(dtype, self), device_or(device, self))"),
    doc="Zeros of this tensor's dtype and device.",
    example="""
        >>> flambeau.tensor([1]).new_zeros(2)
        tensor([0, 0])
    """,
    forms="method",
)
op(
    f"new_ones(Tensor self, int[] size, {FACTORY}) -> Tensor",
    kernel=decomp("ones(size, dtype_or(dtype, self), device_or(device, self))"),
    doc="Ones of this tensor's dtype and device.",
    example="""
        >>> flambeau.tensor([1]).new_ones(2)
        tensor([1, 1])
    """,
    forms="method",
)
op(
    f"new_full(Tensor self, int[] size, Scalar fill_value, {FACTORY}) -> Tensor",
    kernel=decomp("full(size, fill_value, dtype_or(dtype, self), device_or(device, self))"),
    doc="A tensor of one value, of this tensor's dtype and device.",
    example="""
        >>> flambeau.tensor([1]).new_full((2,), 7)
        tensor([7, 7])
    """,
    forms="method",
)
op(
    f"new_empty_strided(Tensor self, int[] size, int[] stride, {FACTORY}) -> Tensor",
    kernel=decomp("empty_strided(size, stride, dtype_or(dtype, self), device_or(device, self))"),
    doc="An uninitialised tensor with given strides, of this one's dtype and device.",
    example="""
        >>> flambeau.ones(1).new_empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
    """,
    forms="method",
)

# ---- ranges ------------------------------------------------------------------------------------------
op(
    f"arange(Scalar end, {FACTORY}) -> Tensor",
    kernel=decomp("arange_start(0, end, 1, dtype, device)"),
    forms="function out",
    doc="Numbers from ``start`` (0) below ``end`` in steps of ``step`` (1).",
    example=">>> flambeau.arange(1, 2.5, 0.5)\ntensor([1.0000, 1.5000, 2.0000])",
)
op(
    f"arange.start(Scalar start, Scalar end, Scalar step=1, {FACTORY}) -> Tensor",
    kernel=native,
    forms="function out",
)
op(
    f"range(Scalar start=0, Scalar end=0, Scalar step=1, {FACTORY}) -> Tensor",
    kernel=native,
    doc="Values from ``start`` to ``end``, both included. Deprecated: `arange` leaves the end out.",
    example="""
        >>> flambeau.range(1, 3)
        tensor([1., 2., 3.])
    """,
    forms="function out",
    tags="deprecated",
)
op(
    f"linspace(Operand start, Operand end, int steps, {FACTORY}) -> Tensor",
    kernel=native,
    example="""
        >>> flambeau.linspace(0, 1, 5)
        tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """,
    forms="function out",
    doc="``steps`` numbers from ``start`` to ``end``, both included.",
)
op(
    f"logspace(Operand start, Operand end, int steps, float base=10.0, {FACTORY}) -> Tensor",
    kernel=native,
    example="""
        >>> flambeau.logspace(0, 2, 3)
        tensor([  1.,  10., 100.])
    """,
    forms="function out",
    doc="``base`` to the power of linspace.",
)
op(
    f"eye(int n, int? m=None, {FACTORY}) -> Tensor",
    kernel=native,
    example="""
        >>> flambeau.eye(2, 3)
        tensor([[1., 0., 0.],
                [0., 1., 0.]])
    """,
    forms="function out",
    doc="Ones on the diagonal.",
)
op(
    f"tril_indices(int row, int col, int offset=0, {FACTORY}) -> Tensor",
    kernel=native,
    doc="Row and column numbers of the lower triangle of a matrix.",
    example="""
        >>> flambeau.tril_indices(2, 2)
        tensor([[0, 1, 1],
                [0, 0, 1]])
    """,
    forms="function",
)
op(
    f"triu_indices(int row, int col, int offset=0, {FACTORY}) -> Tensor",
    kernel=native,
    doc="Row and column numbers of the upper triangle of a matrix.",
    example="""
        >>> flambeau.triu_indices(2, 2)
        tensor([[0, 0, 1],
                [0, 1, 1]])
    """,
    forms="function",
)
op(
    f"scalar_tensor(Scalar s, {FACTORY}) -> Tensor",
    kernel=decomp("full((), s, dtype_or_default(dtype), device)"),
    doc="A 0-d tensor of a number, in the default float dtype.",
    example="""
        >>> flambeau.scalar_tensor(2.5)
        tensor(2.5000)
    """,
    forms="function",
)

# ---- copies ------------------------------------------------------------------------------------------
op(
    "clone(Tensor self, *, memory_format? memory_format=None) -> Tensor",
    kernel=native,
    grad={"self": "grad"},
    samples=[(T(2, 3),), (T(),)],
    forms=FM,
    doc="A copy.",
)
op(
    "contiguous(Tensor self, memory_format? memory_format=None) -> Tensor",
    kernel=composite,
    samples=[(T(2, 3),)],
    forms="method",
    doc="The tensor itself when already laid out so, else a copy.",
)
op(
    "copy_(Tensor! self, Tensor src, bool non_blocking=False) -> Tensor",
    kernel=native,
    node="torch::autograd::CopyBackwards",
    example="""
        >>> flambeau.zeros(2).copy_(flambeau.tensor([1, 2]))
        tensor([1., 2.])
    """,
    grad={"self": "zeros_like(grad, None, None, None)", "src": "grad"},
    tags="any_device",
    forms="method",
    doc="Elements of ``src``, broadcast and converted, written into this tensor.",
)
op(
    "fill_(Tensor! self, Operand value) -> Tensor",
    kernel=native,
    node="FillBackward3 if is_tensor(value) else FillBackward2",
    example="""
        >>> flambeau.zeros(2).fill_(3)
        tensor([3., 3.])
    """,
    grad={"self": "zeros_like(grad, None, None, None)", "value": "sum_to_size(grad, ())"},
    forms="function method",
    doc="Every element set to ``value``.",
)
op(
    "fill(Tensor self, Operand value) -> Tensor",
    kernel=decomp("filled(self, value)"),
    node="FillBackward1 if is_tensor(value) else FillBackward0",
    doc="A tensor of this one's shape and dtype with one value.",
    forms="function",
    samples=[(T(2, 3), 2.0)],
)
op(
    "zero_(Tensor! self) -> Tensor",
    kernel=decomp("fill_(self, 0)"),
    node="ZeroBackward0",
    doc="Sets all elements to zero.",
    example="""
        >>> flambeau.ones(2).zero_()
        tensor([0., 0.])
    """,
    forms="function method",
)
op(
    "zero(Tensor self) -> Tensor",
    kernel=decomp("filled(self, 0)"),
    forms="function",
    tags="internal",
)
op(
    "fill_diagonal_(Tensor! self, Scalar fill_value, bool wrap=False) -> Tensor",
    kernel=native,
    doc="Sets the main diagonal to a value; with ``wrap`` it starts anew below a tall matrix.",
    example="""
        >>> flambeau.zeros(2, 2).fill_diagonal_(1)
        tensor([[1., 0.],
                [0., 1.]])
    """,
    grad={"self": "fill_diagonal_(clone(grad, None), 0, wrap)"},
    forms="method",
)
op(
    "_to_dtype(Tensor self, dtype dtype) -> Tensor",
    kernel=native,
    node="ToCopyBackward0",
    grad={"self": "_to_dtype(grad, self.dtype)"},
    forms="",
    tags="internal",
)
op(
    "to(Tensor self, dtype? dtype=None, bool non_blocking=False, bool copy=False, *, memory_format? memory_format=None) -> Tensor",
    kernel=decomp("converted(self, dtype, None, copy, memory_format)"),
    example="""
        >>> flambeau.tensor([1.5, -2.5]).to(flambeau.int64)
        tensor([ 1, -2])
    """,
    forms="method",
    doc="Another dtype, device or layout; the tensor itself when nothing changes and ``copy`` is false.",
)
op(
    "to.device(Tensor self, device? device=None, dtype? dtype=None, bool non_blocking=False, bool copy=False, *, memory_format? memory_format=None) -> Tensor",
    kernel=decomp("converted(self, dtype, device, copy, memory_format)"),
    forms="method",
)
op(
    "to.other(Tensor self, Tensor other, bool non_blocking=False, bool copy=False, *, memory_format? memory_format=None) -> Tensor",
    kernel=decomp("converted(self, dtype_of(other), device_of(other), copy, memory_format)"),
    forms="method",
)
op(
    "type_as(Tensor self, Tensor other) -> Tensor",
    kernel=decomp("converted(self, dtype_of(other), None, False, None)"),
    doc="The tensor in the dtype of ``other``.",
    example="""
        >>> flambeau.tensor([1.5]).type_as(flambeau.tensor([1]))
        tensor([1])
    """,
    forms="method",
)
for _name, _dtype in (
    ("float", "Float32"), ("double", "Float64"), ("half", "Float16"), ("bfloat16", "BFloat16"), ("bool", "Bool"),
    ("byte", "UInt8"), ("char", "Int8"), ("short", "Int16"), ("int", "Int32"), ("long", "Int64"),
    ("cfloat", "Complex64"), ("cdouble", "Complex128"), ("chalf", "Complex32"),
):  # fmt: skip
    op(
        f"to_{_name}(Tensor self, memory_format? memory_format=None) -> Tensor",
        kernel=decomp(f'converted(self, dtype_named("{_dtype}"), None, False, memory_format)'),
        forms="",
        tags=f"internal method_name:{_name}",
    )
op(
    "cpu(Tensor self, memory_format? memory_format=None) -> Tensor",
    kernel=decomp('converted(self, None, device_named("cpu"), False, memory_format)'),
    doc="The tensor on the cpu; itself if it is there.",
    example="""
        >>> flambeau.ones(2).cpu()
        tensor([1., 1.])
    """,
    forms="method",
)
op(
    "item(Tensor self) -> Scalar",
    kernel=composite,
    example="""
        >>> flambeau.tensor([2.5]).item()
        2.5
    """,
    forms="method",
    doc="The one element as a Python number.",
)
op(
    "complex(Tensor real, Tensor imag) -> Tensor",
    kernel=native,
    grad={"real": "real(grad)", "imag": "imag(grad)"},
    forms="function out",
    samples=[(T(3), T(3))],
    doc="Complex numbers from real and imaginary parts.",
    tags="out:exact",
)
op(
    "polar(Tensor abs, Tensor angle) -> Tensor",
    kernel=decomp("complex(mul(abs, cos(angle)), mul(abs, sin(angle)))"),
    node="PolarBackward0",
    forms="function out",
    samples=[(T(3), T(3))],
    tags="autocast:fp32 out:exact",
    doc="Complex numbers from magnitude and angle.",
)

# ---- joining and repeating ---------------------------------------------------------------------------
op(
    "cat(Tensor[] tensors, int dim=0) -> Tensor",
    kernel=native,
    grad={"tensors": "cat_grads(grad, tensors.shapes, dim)"},
    samples=[([T(2, 3), T(1, 3)],), ([T(2, 3), T(2, 1)], -1)],
    forms="function out",
    alias="concat concatenate",
    tags="autocast:promote apart",
    doc="Tensors joined along a dimension.",
)
op(
    "stack(Tensor[] tensors, int dim=0) -> Tensor",
    kernel=composite,
    node="StackBackward0",
    samples=[([T(2, 3), T(2, 3)],), ([T(2), T(2)], -1)],
    forms="function out",
    tags="autocast:promote apart",
    doc="Tensors joined along a new dimension.",
)
for _name, _d, _way in (("hstack", 1, "columns"), ("vstack", 0, "rows"), ("dstack", 2, "depth")):
    op(
        f"{_name}(Tensor[] tensors) -> Tensor",
        kernel=decomp(f"axis_stack(tensors, {_d})"),
        doc=f"Tensors joined along their {_way}, with dimensions added where they have too few.",
        forms="function out",
        alias="row_stack" if _name == "vstack" else "",
        samples=[([T(2, 3), T(2, 3)],), ([T(2), T(2)],)],
    )
op(
    "column_stack(Tensor[] tensors) -> Tensor",
    kernel=decomp("stack_columns(tensors)"),
    doc="Tensors side by side as columns of a matrix; 1-d tensors are single columns.",
    forms="function out",
    samples=[([T(2), T(2)],)],
)
op(
    "repeat(Tensor self, int[] repeats) -> Tensor",
    kernel=native,
    grad={"self": "repeat_grad(grad, self.shape, repeats)"},
    samples=[(T(2, 3), (2, 1)), (T(3), (2, 2)), (T(2), (0,))],
    forms="method",
    doc="The tensor repeated along each dimension.",
)
op(
    "tile(Tensor self, int[] dims) -> Tensor",
    kernel=composite,
    samples=[(T(2, 3), (2,))],
    forms=FM,
    doc="repeat with missing dimensions taken as 1.",
)
op(
    "flip(Tensor self, int[] dims) -> Tensor",
    kernel=native,
    grad={"self": "flip(grad, dims)"},
    samples=[(T(2, 3), (0,)), (T(2, 3), (0, -1))],
    forms=FM,
    doc="Order reversed along dimensions.",
)
op(
    "fliplr(Tensor self) -> Tensor",
    kernel=decomp("flip_axis(self, 1)"),
    doc="The columns in reverse order.",
    forms=FM,
    samples=[(T(2, 3),)],
)
op(
    "flipud(Tensor self) -> Tensor",
    kernel=decomp("flip_axis(self, 0)"),
    doc="The rows in reverse order.",
    forms=FM,
    samples=[(T(2, 3),)],
)
op(
    "roll(Tensor self, int[] shifts, int[] dims=()) -> Tensor",
    kernel=native,
    grad={"self": "roll(grad, negated(shifts), dims)"},
    samples=[(T(2, 3), (1,), (0,)), (T(4), (-1,), ())],
    forms=FM,
    doc="Elements shifted, those that leave come back at the other end.",
)
op(
    "rot90(Tensor self, int k=1, int[] dims=(0, 1)) -> Tensor",
    kernel=composite,
    node="Rot90Backward0",
    doc="A plane of two dimensions turned ``k`` times by 90 degrees, from the first towards the second.",
    samples=[(T(2, 3),), (T(2, 3), -1)],
    forms=FM,
)
op(
    "tril(Tensor self, int diagonal=0) -> Tensor",
    kernel=native,
    grad={"self": "tril(grad, diagonal)"},
    samples=[(T(3, 3),), (T(2, 3, 4), 1)],
    forms=FM + " inplace out",
    doc="Elements above a diagonal set to zero.",
    tags="out:exact",
)
op(
    "triu(Tensor self, int diagonal=0) -> Tensor",
    kernel=native,
    grad={"self": "triu(grad, diagonal)"},
    samples=[(T(3, 3),), (T(2, 3, 4), -1)],
    forms=FM + " inplace out",
    doc="Elements below a diagonal set to zero.",
    tags="out:exact",
)
op(
    "diag(Tensor self, int diagonal=0) -> Tensor",
    kernel=composite,
    node="DiagonalBackward0_copy if self.ndim > 1 else DiagEmbedBackward0",
    samples=[(T(3),), (T(3, 4), 1)],
    forms=FM + " out",
    doc="A vector as a diagonal matrix, or the diagonal of a matrix.",
    tags="out:exact",
)
op(
    "diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
    kernel=native,
    grad={"self": "diagonal(grad, offset, dim1, dim2)"},
    samples=[(T(2, 3),), (T(3), 1)],
    forms=FM,
    doc="The last dimension as diagonals of two dimensions.",
)
op(
    "diagflat(Tensor self, int offset=0) -> Tensor",
    kernel=decomp("diag(ravel(self), offset)"),
    doc="A matrix with the elements of the tensor, whatever its shape, on a diagonal.",
    forms=FM,
    samples=[(T(2, 2),)],
)
op(
    "pad(Tensor self, int[] pad, str mode='constant', float? value=None) -> Tensor",
    kernel=composite,
    samples=[(T(2, 3), (1, 2)), (T(2, 3, 4), (1, 0, -1, 2))],
    forms="",
    doc="Borders added (or cut) from the last dimension on.",
)
op(
    "constant_pad_nd(Tensor self, int[] pad, Scalar value=0) -> Tensor",
    kernel=native,
    grad={"self": "constant_pad_nd(grad, negated(pad), 0)"},
    samples=[(T(2, 3), (1, 2), 2), (T(2, 3, 4), (1, 0, -1, 2))],
    forms="function",
    doc="Borders of one value added (or cut, where negative) from the last dimension on.",
)
op(
    "result_type(Operand tensor1, Operand tensor2) -> dtype",
    kernel=composite,
    example="""
        >>> flambeau.result_type(flambeau.tensor([1]), 1.5)
        torch.float32
    """,
    forms="function",
    doc="The dtype that an operation on both would give.",
)
