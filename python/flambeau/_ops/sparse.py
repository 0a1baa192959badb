"""Sparse tensors: making them, their parts, conversions, products. Rules are in _sparse/."""

from __future__ import annotations

from .table import boxed, composite, decomp, native, op

# ---- making them ---------------------------------------------------------------------------------

op(
    "_sparse_coo_tensor_with_dims_and_tensors(int sparse_dim, int dense_dim, int[] size, Tensor indices, Tensor values, bool? is_coalesced=None) -> Tensor",
    kernel=boxed,
    grad={"values": "_sparse_take(grad, result)"},
    forms="",
    tags="internal",
)
op(
    "_sparse_compressed_tensor(Tensor compressed_indices, Tensor plain_indices, Tensor values, int[] size, str layout) -> Tensor",
    kernel=boxed,
    grad={"values": "_sparse_take(grad, result)"},
    forms="",
    tags="internal",
)
op(
    "_sparse_like(Tensor pattern, Tensor values) -> Tensor",
    kernel=boxed,
    grad={"values": "_sparse_take(grad, pattern)"},
    forms="",
    tags="internal",
    doc="Other values at the places of ``pattern``.",
)
op(
    "_sparse_take(Tensor self, Tensor pattern) -> Tensor",
    kernel=boxed,
    grad={"self": "sparse_take_grad(grad, self, pattern)"},
    forms="",
    tags="internal",
    doc="The elements of a dense or sparse tensor at the places of ``pattern``, as its values.",
)
op(
    "_sparse_coordinates(Tensor self) -> Tensor",
    kernel=boxed,
    forms="",
    tags="internal",
    doc="Indices of the elements as of a COO tensor, whatever the layout.",
)
op(
    "_sparse_groups(Tensor self, int dim) -> Tensor",
    kernel=boxed,
    forms="",
    tags="internal",
    doc="A number for each element that all elements share whose indices differ in ``dim`` only.",
)

# ---- parts ---------------------------------------------------------------------------------------

_PARTS = [
    ("indices", "The indices of a coalesced sparse COO tensor, a column for each element.", "", '[[0, 1, 1],\n                    [1, 0, 1]]'),
    ("_indices", "The indices of a sparse COO tensor as they are, coalesced or not.", "", '[[0, 1, 1],\n                    [1, 0, 1]]'),
    ("_values", "The values of a sparse COO tensor as they are, coalesced or not; shares memory.", "", '[2., 3., 4.]'),
    ("crow_indices", "Of a sparse CSR or BSR tensor, where each row begins and the last one ends.", "_csr", '[0, 1, 3]'),
    ("col_indices", "The column of each element of a sparse CSR or BSR tensor.", "_csr", '[1, 0, 1]'),
    ("ccol_indices", "Of a sparse CSC or BSC tensor, where each column begins and the last one ends.", "_csc", '[0, 1, 3]'),
    ("row_indices", "The row of each element of a sparse CSC or BSC tensor.", "_csc", '[1, 0, 1]'),
]  # fmt: skip
for _name, _doc, _made, _shown in _PARTS:
    op(
        f"{_name}(Tensor self) -> Tensor",
        kernel=boxed,
        forms="method",
        doc=_doc,
        example=f"""
            >>> flambeau.tensor([[0.0, 2.0], [3.0, 4.0]]).to_sparse{_made}().{_name}()
            tensor({_shown})
        """,
    )
op(
    "values(Tensor self) -> Tensor",
    kernel=boxed,
    grad={"self": "_sparse_like(self, grad)"},
    forms="method",
    doc="The values of a sparse tensor (a coalesced one, if COO).",
    example="""
        >>> flambeau.tensor([0.0, 2.0, 0.0, 3.0]).to_sparse().values()
        tensor([2., 3.])
    """,
)
_COUNTS = [
    ("sparse_dim", "How many dimensions the indices of a sparse tensor are for.", 1),
    ("dense_dim", "How many dimensions the values of a sparse tensor have beyond the first.", 1),
    ("_nnz", "How many elements a sparse tensor specifies.", 2),
    ("_dimI", "``sparse_dim`` of a COO tensor.", 1),
    ("_dimV", "``dense_dim`` of a COO tensor.", 1),
]
for _name, _doc, _count in _COUNTS:
    op(
        f"{_name}(Tensor self) -> int",
        kernel=boxed,
        forms="method",
        doc=_doc,
        example=f"""
            >>> flambeau.tensor([[0.0, 2.0], [3.0, 4.0]]).to_sparse(1).{_name}()
            {_count}
        """,
    )
op(
    "is_coalesced(Tensor self) -> bool",
    kernel=boxed,
    forms="method",
    doc="Whether a COO tensor is known to have its indices sorted and each once.",
    example="""
        >>> flambeau.sparse_coo_tensor([[1, 0]], [1.0, 2.0]).is_coalesced()
        False
    """,
)
op(
    "_coalesced_(Tensor! self, bool coalesced) -> Tensor",
    kernel=boxed,
    forms="method",
    doc="Says of a COO tensor that it is coalesced, or that it may not be.",
    example="""
        >>> flambeau.sparse_coo_tensor([[0, 1]], [1.0, 2.0])._coalesced_(True).is_coalesced()
        True
    """,
)
op(
    "_coalesce(Tensor self) -> Tensor",
    kernel=boxed,
    grad={"self": "grad"},
    forms="function",
    tags="internal",
    doc="Sorts the indices and adds up the values of equal ones.",
)
op(
    "coalesce(Tensor self) -> Tensor",
    kernel=composite,
    forms="method",
    doc="A COO tensor with its indices sorted and the values of equal indices added up; the tensor itself if it is so.",
    example="""
        >>> flambeau.sparse_coo_tensor([[1, 0, 1]], [1.0, 2.0, 3.0]).coalesce().values()
        tensor([2., 4.])
    """,
)
op(
    "sparse_resize_(Tensor! self, int[] size, int sparse_dim, int dense_dim) -> Tensor",
    kernel=boxed,
    forms="method",
    doc="Changes sizes and numbers of dimensions of a COO tensor; elements stay, so sizes may only grow.",
    example="""
        >>> flambeau.tensor([0.0, 2.0]).to_sparse().sparse_resize_((3,), 1, 0).to_dense()
        tensor([0., 2., 0.])
    """,
)
op(
    "sparse_resize_and_clear_(Tensor! self, int[] size, int sparse_dim, int dense_dim) -> Tensor",
    kernel=boxed,
    forms="method",
    doc="Makes a COO tensor one of other sizes without elements.",
    example="""
        >>> flambeau.tensor([0.0, 2.0]).to_sparse().sparse_resize_and_clear_((3,), 1, 0).to_dense()
        tensor([0., 0., 0.])
    """,
)
op(
    "resize_as_sparse_(Tensor! self, Tensor the_template) -> Tensor",
    kernel=boxed,
    forms="function method",
    doc="`sparse_resize_` to the sizes of another COO tensor.",
    example="""
        >>> x = flambeau.tensor([0.0, 2.0]).to_sparse()
        >>> x.resize_as_sparse_(flambeau.zeros(3).to_sparse()).to_dense()
        tensor([0., 2., 0.])
    """,
)

op(
    "_sparse_narrow(Tensor self, int dim, int start, int length) -> Tensor",
    kernel=boxed,
    grad={"self": "sparse_narrow_grad(grad, self, dim, start)"},
    node="NarrowCopyBackward0",
    forms="",
    tags="internal",
    doc="`narrow_copy` of a COO tensor.",
)

# ---- conversions ---------------------------------------------------------------------------------

op(
    "_to_dense(Tensor self, dtype? dtype=None, bool? masked_grad=None) -> Tensor",
    kernel=boxed,
    grad={"self": "to_dense_grad(grad, self, masked_grad)"},
    forms="method",
    tags="internal",
    doc="`to_dense` of a sparse tensor.",
)
op(
    "to_dense(Tensor self, dtype? dtype=None, *, bool? masked_grad=None) -> Tensor",
    kernel=composite,
    forms="method",
    doc="A dense tensor with the elements of a sparse one, zero where it specifies none.",
    example="""
        >>> flambeau.sparse_coo_tensor([[0, 2]], [1.0, 2.0], (4,)).to_dense()
        tensor([1., 0., 2., 0.])
    """,
)
op(
    "_to_sparse(Tensor self, str layout, int[]? blocksize=None, int? dense_dim=None) -> Tensor",
    kernel=boxed,
    grad={"self": "to_sparse_grad(grad, self)"},
    node='ToSparseBackward1 if layout == "sparse_coo" else (ToSparseCsrBackward0 if layout == "sparse_csr" else (ToSparseCscBackward0 if layout == "sparse_csc" else (ToSparseBsrBackward0 if layout == "sparse_bsr" else ToSparseBscBackward0)))',
    forms="",
    tags="internal",
    doc="`to_sparse` into another layout.",
)
op(
    "to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor",
    kernel=boxed,
    grad={"self": "to_sparse_grad(grad, self)"},
    node="ToSparseBackward0",
    forms="method",
    doc="The elements that are not zero as a sparse tensor: COO, or ``layout``. ``blocksize`` is that of BSR and BSC, ``dense_dim`` dimensions at the end stay dense (``sparse_dim`` at the front do not).",
    example="""
        >>> flambeau.tensor([[0.0, 2.0], [0.0, 3.0]]).to_sparse().indices()
        tensor([[0, 1],
                [1, 1]])
    """,
)
op(
    "to_sparse(Tensor self, *, layout_name? layout=None, int[]? blocksize=None, int? dense_dim=None) -> Tensor",
    kernel=composite,
    forms="method",
)
for _layout, _what in (("csr", "rows"), ("csc", "columns")):
    op(
        f"to_sparse_{_layout}(Tensor self, int? dense_dim=None) -> Tensor",
        kernel=decomp(f'to_sparse(self, "sparse_{_layout}", None, dense_dim)'),
        forms="method",
        doc=f"A sparse tensor with compressed {_what}.",
        example=f"""
            >>> flambeau.tensor([[0.0, 2.0], [3.0, 4.0]]).to_sparse_{_layout}().values()
            tensor({"[2., 3., 4.]" if _layout == "csr" else "[3., 2., 4.]"})
        """,
    )
for _layout, _what in (("bsr", "rows"), ("bsc", "columns")):
    op(
        f"to_sparse_{_layout}(Tensor self, int[2] blocksize, int? dense_dim=None) -> Tensor",
        kernel=decomp(f'to_sparse(self, "sparse_{_layout}", blocksize, dense_dim)'),
        forms="method",
        doc=f"A sparse tensor of blocks with compressed {_what}.",
        example=f"""
            >>> flambeau.eye(4).to_sparse_{_layout}((2, 2)).values().shape
            torch.Size([2, 2, 2])
        """,
    )
op(
    "sparse_mask(Tensor self, Tensor mask) -> Tensor",
    kernel=boxed,
    grad={"self": "sparse_mask_grad(grad, self, mask)"},
    forms="method",
    doc="The elements of a tensor at the places that the sparse ``mask`` specifies, as a sparse tensor.",
    example="""
        >>> mask = flambeau.tensor([0.0, 1.0, 1.0]).to_sparse()
        >>> flambeau.tensor([5.0, 6.0, 7.0]).sparse_mask(mask).to_dense()
        tensor([0., 6., 7.])
    """,
)

# ---- products and sums ---------------------------------------------------------------------------

op(
    "_sparse_mm(Tensor sparse, Tensor dense) -> Tensor",
    kernel=composite,
    forms="",
    alias="sparse.mm",
    doc="Product of a sparse matrix and a dense or sparse one. The gradient of a sparse matrix is sparse, with the same elements. With ``reduce``, products are combined by sum, mean, amax or amin.",
    example="""
        >>> a = flambeau.tensor([[0.0, 2.0], [1.0, 0.0]]).to_sparse()
        >>> flambeau.sparse.mm(a, flambeau.eye(2))
        tensor([[0., 2.],
                [1., 0.]])
    """,
)
op(
    "_sparse_mm.reduce(Tensor sparse, Tensor dense, str reduce) -> Tensor",
    kernel=composite,
    node="SparseMmReduceImplBackward0",
    forms="",
)
op(
    "_sparse_addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    kernel=boxed,
    grad={
        "self": "scaled(grad, beta)",
        "mat1": "sparse_addmm_mat1(grad, mat1, mat2, alpha)",
        "mat2": "sparse_addmm_mat2(grad, mat1, mat2, alpha)",
    },
    forms="",
    alias="sparse.addmm",
    doc="``beta * input + alpha * (mat1 @ mat2)`` with a sparse ``mat1``, whose gradient is sparse.",
    example="""
        >>> a = flambeau.tensor([[0.0, 2.0], [1.0, 0.0]]).to_sparse()
        >>> flambeau.sparse.addmm(flambeau.ones(2, 2), a, flambeau.eye(2))
        tensor([[1., 3.],
                [2., 1.]])
    """,
)
op(
    "_sparse_sparse_matmul(Tensor self, Tensor other) -> Tensor",
    kernel=boxed,
    grad={
        "self": "sparse_product_self(grad, self, other)",
        "other": "sparse_product_other(grad, self, other)",
    },
    forms="function",
    tags="internal",
    doc="Product of two sparse matrices, a sparse one.",
)
op(
    "_sparse_sum.dim(Tensor self, int[] dim) -> Tensor",
    kernel=boxed,
    grad={"self": "_sparse_sum_backward(grad, self, dim)"},
    forms="function",
    tags="internal",
    doc="Sums of a COO tensor over dimensions.",
)
op(
    "_sparse_sum_backward(Tensor grad_output, Tensor self, int[] dim) -> Tensor",
    kernel=boxed,
    grad={"grad_output": "sparse_sum_again(grad, grad_output, dim)"},
    forms="",
    tags="internal",
)
op(
    "_sparse_softmax(Tensor self, int dim, *, dtype? dtype=None) -> Tensor",
    kernel=boxed,
    grad={"self": "sparse_softmax_grad(grad, result, dim, self)"},
    forms="",
    alias="sparse.softmax",
    doc="softmax along ``dim`` of the elements that a sparse tensor specifies: the others count as -inf.",
    example="""
        >>> a = flambeau.tensor([[0.0, 2.0], [1.0, 1.0]]).to_sparse()
        >>> flambeau.sparse.softmax(a, 1).to_dense()
        tensor([[0.0000, 1.0000],
                [0.5000, 0.5000]])
    """,
)
op(
    "_sparse_log_softmax(Tensor self, int dim, *, dtype? dtype=None) -> Tensor",
    kernel=boxed,
    grad={"self": "sparse_log_softmax_grad(grad, result, dim, self)"},
    forms="",
    alias="sparse.log_softmax",
    doc="Logarithm of `flambeau.sparse.softmax`.",
    example="""
        >>> a = flambeau.tensor([[0.0, 2.0], [1.0, 1.0]]).to_sparse()
        >>> flambeau.sparse.log_softmax(a, 1).values()
        tensor([ 0.0000, -0.6931, -0.6931])
    """,
)
op(
    "sparse_sampled_addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    kernel=composite,
    node="SparseSampledAddmmBackward0",
    forms="",
    tags="internal",
    alias="sparse.sampled_addmm",
    doc="``beta * input + alpha * (mat1 @ mat2)`` at the places that the sparse CSR ``input`` specifies.",
    example="""
        >>> a = flambeau.tensor([[0.0, 2.0], [1.0, 0.0]]).to_sparse_csr()
        >>> flambeau.sparse.sampled_addmm(a, flambeau.ones(2, 3), flambeau.ones(3, 2)).values()
        tensor([5., 4.])
    """,
)
op(
    "hspmm(Tensor mat1, Tensor mat2) -> Tensor",
    kernel=boxed,
    node="NotImplemented",
    grad={"mat1": 'no_derivative("hspmm")', "mat2": 'no_derivative("hspmm")'},
    forms="function",
    doc="Product of a sparse COO matrix and a dense one as a sparse tensor of whole rows.",
    example="""
        >>> a = flambeau.sparse_coo_tensor([[1], [0]], [2.0], (3, 2))
        >>> flambeau.hspmm(a, flambeau.ones(2, 2)).to_dense()
        tensor([[0., 0.],
                [2., 2.],
                [0., 0.]])
    """,
)
op(
    "sspaddmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    kernel=boxed,
    node="NotImplemented",
    grad={
        "self": 'no_derivative("sspaddmm")',
        "mat1": 'no_derivative("sspaddmm")',
        "mat2": 'no_derivative("sspaddmm")',
    },
    forms="function method",
    doc="``beta * input + alpha * (mat1 @ mat2)`` of sparse COO ``input`` and ``mat1`` and a dense ``mat2``, as a sparse tensor.",
    example="""
        >>> a = flambeau.sparse_coo_tensor([[1], [0]], [2.0], (2, 2))
        >>> flambeau.sspaddmm(a, a, flambeau.eye(2)).to_dense()
        tensor([[0., 0.],
                [4., 0.]])
    """,
)
op(
    "smm(Tensor self, Tensor mat2) -> Tensor",
    kernel=boxed,
    node="NotImplemented",
    grad={"self": 'no_derivative("sspaddmm")', "mat2": 'no_derivative("sspaddmm")'},
    forms="function method",
    doc="Product of a sparse COO matrix and a dense one, as a sparse tensor.",
    example="""
        >>> a = flambeau.sparse_coo_tensor([[1], [0]], [2.0], (2, 2))
        >>> flambeau.smm(a, flambeau.eye(2)).to_dense()
        tensor([[0., 0.],
                [2., 0.]])
    """,
)

# ---- kernels -------------------------------------------------------------------------------------

op(
    "_sum_runs(Tensor values, Tensor order, Tensor starts) -> Tensor",
    kernel=native,
    forms="",
    tags="internal",
    doc="Sums of ``values[order[i]]`` over runs of i, of which ``starts`` has the bounds, from the first on.",
)
op(
    "_csr_order(Tensor rows, int size) -> (Tensor, Tensor)",
    kernel=native,
    forms="",
    tags="internal",
    doc="Where each row begins when elements are sorted by row, and their order then, which is stable.",
)
op(
    "_convert_indices_from_coo_to_csr(Tensor self, int size, *, bool out_int32=False) -> Tensor",
    kernel=native,
    forms="function out",
    doc="Where the runs of sorted indices begin: ``size + 1`` counts.",
    example="""
        >>> flambeau._convert_indices_from_coo_to_csr(flambeau.tensor([0, 2, 2]), 4)
        tensor([0, 1, 1, 3, 3])
    """,
)
op(
    "_convert_indices_from_csr_to_coo(Tensor crow_indices, Tensor col_indices, *, bool out_int32=False, bool transpose=False) -> Tensor",
    kernel=native,
    forms="function out",
    doc="The indices of a COO tensor from those of a CSR one.",
    example="""
        >>> crow = flambeau.tensor([0, 1, 1, 3])
        >>> flambeau._convert_indices_from_csr_to_coo(crow, flambeau.tensor([0, 0, 1]))
        tensor([[0, 2, 2],
                [0, 0, 1]])
    """,
)
op(
    "_csr_mm(Tensor crow, Tensor col, Tensor values, Tensor dense) -> Tensor",
    kernel=native,
    forms="",
    tags="internal",
    doc="Product of a CSR matrix and a dense one.",
)
op(
    "_csr_matmul(Tensor crow, Tensor col, Tensor values, Tensor other_crow, Tensor other_col, Tensor other_values, int columns) -> (Tensor, Tensor, Tensor)",
    kernel=native,
    forms="",
    tags="internal",
    doc="Product of two CSR matrices: row starts, columns and values; each row sorted by column.",
)
