"""Reductions: sums, means, extremes, truth, moments, norms, counts."""

from __future__ import annotations

from .samples import T
from .table import composite, decomp, native, op

FM = "function method"
FMO = "function method out"
DIMS = [(T(2, 3, 4), 1), (T(2, 3, 4), (0, 2), True), (T(3), None), (T(), 0)]
ALL = [(T(2, 3),), (T(),)]

op(
    "sum(Tensor self, *, dtype? dtype=None) -> Tensor",
    kernel=native,
    grad={"self": "expand(grad, self.shape, False)"},
    samples=ALL,
    ref="numpy.sum(self)",
    forms=FMO,
    doc="Sum of the elements, of all or along dimensions. Integers add up in int64.",
)
op(
    "sum.dim(Tensor self, int[]? dim, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
    kernel=native,
    node="SumBackward1",
    grad={"self": "spread(grad, self.shape, dim, keepdim)"},
    samples=DIMS,
    forms=FMO,
)
op(
    "nansum(Tensor self, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
    kernel=native,
    grad={"self": "masked(spread(grad, self.shape, dim, keepdim), logical_not(isnan(self)))"},
    samples=DIMS,
    forms=FMO,
    doc="Sum that takes NaN for zero.",
)
op(
    "mean(Tensor self, *, dtype? dtype=None) -> Tensor",
    kernel=native,
    grad={"self": "expand(grad / reduced_count(self.shape, None), self.shape, False)"},
    samples=ALL,
    ref="numpy.mean(self)",
    forms=FMO,
    doc="Arithmetic mean, of all elements or along dimensions.",
)
op(
    "mean.dim(Tensor self, int[]? dim, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
    kernel=native,
    node="MeanBackward1",
    grad={"self": "spread(grad / reduced_count(self.shape, dim), self.shape, dim, keepdim)"},
    samples=DIMS,
    forms=FMO,
)
op(
    "nanmean(Tensor self, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
    kernel=decomp("nan_mean(self, dim, keepdim, dtype)"),
    samples=DIMS,
    forms=FMO,
    doc="Mean of the elements that are not NaN.",
)
op(
    "prod(Tensor self, *, dtype? dtype=None) -> Tensor",
    kernel=native,
    grad={"self": "prod_grad(grad, self, result, None, False)"},
    samples=ALL,
    ref="numpy.prod(self)",
    forms=FMO,
    tags="autocast:fp32",
    doc="Product of the elements, of all or along one dimension.",
)
op(
    "prod.dim(Tensor self, int dim, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
    kernel=native,
    node="ProdBackward1",
    grad={"self": "prod_grad(grad, self, result, (dim,), keepdim)"},
    samples=[(T(2, 3), 1), (T(2, 3), 0, True)],
    forms=FMO,
    tags="autocast:fp32",
)
op(
    "sum_to_size(Tensor self, int[] size) -> Tensor",
    kernel=native,
    node="SumBackward1",
    grad={"self": "expand(grad, self.shape, False)"},
    samples=[(T(2, 3), (1, 3)), (T(2, 3), (3,)), (T(2, 3), (2, 3))],
    forms="method",
    doc="The sum over the dimensions along which ``size`` would broadcast to this tensor.",
)

# ---- extremes

for _name, _other, _word in (("max", "maximum", "Largest"), ("min", "minimum", "Smallest")):
    op(
        f"{_name}(Tensor self) -> Tensor",
        kernel=native,
        node=f"{_name.capitalize()}Backward1",
        grad={"self": "where_equal(grad, self, result, None, False)"},
        samples=ALL,
        ref=f"numpy.{_name}(self)",
        forms=FMO,
        doc=f"{_word} element of all; with ``dim`` also its position; with ``other`` see {_other}.",
    )
    op(
        f"{_name}.other(Tensor self, Tensor other) -> Tensor",
        kernel=decomp(f"{_other}(self, other)"),
        forms=FMO,
    )
    op(
        f"{_name}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        kernel=native,
        grad={"self": "selected_grad(grads[0], self.shape, dim, results[1], keepdim)"},
        samples=[(T(2, 3), 1), (T(2, 3), 0, True)],
        forms=FMO,
        tags="out:exact",
    )
    op(
        f"a{_name}(Tensor self, int[] dim=(), bool keepdim=False) -> Tensor",
        kernel=native,
        grad={"self": "where_equal(grad, self, result, dim, keepdim)"},
        samples=[(T(2, 3, 4), 1), (T(2, 3, 4), (0, 2), True), (T(2, 3),)],
        forms=FMO,
        doc=f"{_word} elements along dimensions; the gradient is shared by ties.",
        tags="out:exact",
    )
    op(
        f"arg{_name}(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
        kernel=native,
        samples=[(T(2, 3), 1), (T(2, 3),)],
        forms=FMO,
        doc=f"Position of the {_word.lower()} element, in the flattened tensor without ``dim``.",
        tags="out:exact",
    )
op(
    "aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
    kernel=native,
    grad={"self": "aminmax_grad(grads, self, results, dim, keepdim)"},
    samples=[(T(2, 3),)],
    forms=FMO,
    doc="Smallest and largest element.",
    tags="out:exact",
)

# ---- truth

for _name, _text in (
    ("any", "Whether any element is true."),
    ("all", "Whether all elements are true."),
):
    op(
        f"{_name}(Tensor self) -> Tensor",
        kernel=native,
        samples=ALL,
        ref=f"numpy.{_name}(self)",
        forms=FMO,
        doc=_text,
        tags="out:exact",
    )
    op(
        f"{_name}.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
        kernel=native,
        samples=[(T(2, 3), 1), (T(2, 3), (0, 1), True)],
        forms=FMO,
        tags="out:exact",
    )
op(
    "equal(Tensor self, Tensor other) -> bool",
    kernel=native,
    example="""
        >>> flambeau.equal(flambeau.tensor([1, 2]), flambeau.tensor([1, 2]))
        True
    """,
    forms=FM,
    doc="Whether shapes and all elements are the same.",
)
op(
    "isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor",
    kernel=composite,
    samples=[(T(3), T(3))],
    forms=FM,
    doc="``|input - other| <= atol + rtol * |other|``, element by element.",
)
op(
    "allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool",
    kernel=composite,
    example="""
        >>> flambeau.allclose(flambeau.tensor([1.0]), flambeau.tensor([1.0 + 1e-9]))
        True
    """,
    forms=FM,
    doc="Whether `isclose` holds everywhere.",
)

# ---- moments

op(
    "_var_mean(Tensor self, int[]? dim, float correction, bool keepdim, bool root) -> (Tensor, Tensor)",
    kernel=native,
    grad={"self": "var_mean_grad(grads, self, results[0], dim, correction, keepdim, root)"},
    samples=[(T(2, 3), (1,), 1.0, False, False), (T(2, 3), None, 0.0, False, True)],
    forms="",
    tags="internal",
    doc="Variance (or its root) and mean.",
)
for _name, _root, _what in (("var", "False", "Variance"), ("std", "True", "Standard deviation")):
    for _mean, _returns in (("", "Tensor"), ("_mean", "(Tensor, Tensor)")):
        _call = f"_var_mean(self, %s, %s, %s, {_root})"
        _wrap = (lambda text: text) if _mean else (lambda text: f"first_of({text})")
        _doc = f"{_what}{' and mean' if _mean else ''}, of all elements or along dimensions; the divisor is N - correction."
        _forms = "function" if _mean else FMO
        _node = f"{_name.capitalize()}{'Mean' if _mean else ''}Backward0"
        op(
            f"{_name}{_mean}(Tensor self, bool unbiased=True) -> {_returns}",
            kernel=decomp(_wrap(_call % ("None", "1 if unbiased else 0", "False"))),
            node=_node,
            samples=ALL[:1],
            forms=_forms,
            doc=_doc,
        )
        op(
            f"{_name}{_mean}.dim(Tensor self, int[]? dim, bool unbiased=True, bool keepdim=False) -> {_returns}",
            kernel=decomp(_wrap(_call % ("dim", "1 if unbiased else 0", "keepdim"))),
            node=_node,
            samples=[(T(2, 3), 1), (T(2, 3), (0, 1), False, True)],
            forms=_forms,
        )
        op(
            f"{_name}{_mean}.correction(Tensor self, int[]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> {_returns}",
            kernel=decomp(_wrap(_call % ("dim", "number_or(correction, 1)", "keepdim"))),
            node=_node,
            forms=_forms,
        )

# ---- norms

op(
    "_vector_norm(Tensor self, float ord, int[]? dim, bool keepdim) -> Tensor",
    kernel=native,
    node="LinalgVectorNormBackward0",
    grad={"self": "norm_grad(grad, self, result, ord, dim, keepdim)"},
    samples=[(T(2, 3), 2.0, (1,), False), (T(2, 3), 3.0, None, False)],
    forms="",
    tags="internal",
)
op(
    "linalg_vector_norm(Tensor self, Scalar ord=2, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
    kernel=composite,
    samples=[(T(2, 3),), (T(2, 3), 1, 1)],
    forms="out",
    alias="linalg.vector_norm",
    doc="Norm of the elements as one vector, or of vectors along dimensions.",
    tags="out:exact",
)
op(
    "linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=(-2,-1), bool keepdim=False, *, dtype? dtype=None) -> Tensor",
    kernel=composite,
    samples=[(T(2, 3), 1)],
    forms="out",
    alias="linalg.matrix_norm",
    doc="Norm of matrices: ``fro``, ``nuc``, 1, -1, 2, -2, inf or -inf.",
    tags="out:exact",
)
op(
    "linalg_matrix_norm.str_ord(Tensor self, str ord='fro', int[] dim=(-2,-1), bool keepdim=False, *, dtype? dtype=None) -> Tensor",
    kernel=composite,
    samples=[(T(2, 3),)],
    forms="out",
    tags="out:exact",
)
op(
    "linalg_norm(Tensor self, Scalar? ord=None, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
    kernel=composite,
    samples=[(T(2, 3),)],
    forms="out",
    alias="linalg.norm",
    doc="Norm of a vector (one dimension, or no ``ord``) or of a matrix (two dimensions).",
    tags="out:exact",
)
op(
    "linalg_norm.ord_str(Tensor self, str ord, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
    kernel=composite,
    samples=[(T(2, 3), "fro")],
    forms="out",
    tags="out:exact",
)
op(
    "norm(Tensor self, str p='fro', int[]? dim=None, bool keepdim=False, dtype? dtype=None) -> Tensor",
    kernel=composite,
    samples=[(T(2, 3),)],
    forms=FMO,
    doc="Norm of vectors, ``p`` a number or 'fro'; 'nuc' of matrices.",
    tags="out:exact",
)
op(
    "norm.Scalar(Tensor self, Scalar? p, int[]? dim=None, bool keepdim=False, dtype? dtype=None) -> Tensor",
    kernel=composite,
    samples=[(T(2, 3), 1), (T(2, 3), 3, 1)],
    forms=FMO,
    tags="out:exact",
)
op(
    "frobenius_norm(Tensor self, int[] dim, bool keepdim=False) -> Tensor",
    kernel=decomp("linalg_vector_norm(self, 2, dim, keepdim, None)"),
    samples=[(T(2, 3), (0, 1)), (T(2, 3), (1,), True)],
    forms="function out",
    doc="2-norm of the elements along dimensions; `linalg.vector_norm` is the newer name.",
)
op(
    "nuclear_norm(Tensor self, bool keepdim=False) -> Tensor",
    kernel=decomp('linalg_matrix_norm_str_ord(self, "nuc", (-2, -1), keepdim, None)'),
    example="""
        >>> flambeau.nuclear_norm(flambeau.tensor([[3.0, 0.0], [0.0, -4.0]]))
        tensor(7.)
    """,
    forms="function out",
    doc="Sum of singular values of matrices; `linalg.matrix_norm` is the newer name.",
)
op(
    "nuclear_norm.dim(Tensor self, int[] dim, bool keepdim=False) -> Tensor",
    kernel=decomp('linalg_matrix_norm_str_ord(self, "nuc", dim, keepdim, None)'),
    forms="function out",
)
op(
    "dist(Tensor self, Tensor other, Scalar p=2) -> Tensor",
    kernel=decomp("linalg_vector_norm(self - other, p, None, False, None)"),
    node="DistBackward0",
    samples=[(T(2, 3), T(2, 3))],
    forms=FMO,
    doc="Norm of the difference.",
)
op(
    "logsumexp(Tensor self, int[] dim, bool keepdim=False) -> Tensor",
    kernel=native,
    grad={"self": "logsumexp_grad(grad, self, result, dim, keepdim)"},
    samples=[(T(2, 3), 1), (T(2, 3), (0, 1), True)],
    forms=FMO,
    alias="special.logsumexp",
    doc="Logarithm of the sum of exponentials, without overflow.",
)

op(
    "hash_tensor(Tensor self, int[] dim=(), *, bool keepdim=False, int mode=0) -> Tensor",
    kernel=native,
    samples=[(T(2, 3),), (T(2, 3), (1,))],
    forms=FMO,
    tags="out:exact",
    doc="Exclusive or of the elements as 64-bit patterns (floats as float64), of all or along dimensions.",
    example="""
        >>> flambeau.hash_tensor(flambeau.tensor([[5, 3], [3, 0]]), 1)
        tensor([6, 3], dtype=torch.uint64)
    """,
)

# ---- counts

op(
    "count_nonzero(Tensor self, int[]? dim=None) -> Tensor",
    kernel=native,
    samples=ALL,
    forms=FMO,
    doc="How many elements are not zero.",
)
op(
    "histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
    kernel=native,
    samples=[(T(5), 4, -3, 3)],
    forms=FMO,
    doc="Counts of equal-width bins from ``min`` to ``max`` (both 0: the range of the elements).",
    tags="out:exact",
)
op(
    "bincount(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor",
    kernel=native,
    example="""
        >>> flambeau.bincount(flambeau.tensor([0, 2, 2]))
        tensor([1, 0, 2])
    """,
    forms=FM,
    doc="How often each non-negative integer occurs, or the sum of its weights.",
)
op(
    "cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor",
    kernel=composite,
    samples=[(T(2, 3),)],
    forms=FM,
    doc="Covariance of variables (rows) over observations (columns).",
)
op(
    "corrcoef(Tensor self) -> Tensor",
    kernel=composite,
    samples=[(T(2, 3),)],
    forms=FM,
    doc="Pearson's correlation coefficients of variables (rows).",
)
