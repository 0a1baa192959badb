"""Rules: arithmetic of sparse tensors with one another, with dense tensors and numbers; sums."""

from __future__ import annotations

from flambeau import _C
from flambeau._C import Tensor, ops

from .record import (
    COO,
    CSR,
    change,
    coalesced,
    coo,
    count,
    is_sparse,
    keys,
    owner,
    shown_layout,
    with_values,
)
from .rules import sparse_dim
from .rules_convert import spread, take, to_coo, to_sparse
from .table import rule


def _number(x):
    """Whether an operand counts as a number: one, or a dense tensor without dimensions."""
    return not isinstance(x, Tensor) or (x.dim() == 0 and not is_sparse(x))


def _same_sizes(name, a, b):
    if tuple(a.shape) != tuple(b.shape):
        raise RuntimeError(
            f"{name}: expected 'self' and 'other' to have same sizes, but the sizes don't match: "
            f"{list(a.shape)} and {list(b.shape)}"
        )


def _scaled(values, alpha):
    return values if alpha == 1 and not isinstance(alpha, bool) else values * alpha


def _both(a, b, dtype):
    return a.to(dtype), b.to(dtype)


# ---- sums and differences ------------------------------------------------------------------------


def _add_sparse(a, b, alpha):
    """The union of two sparse tensors."""
    _same_sizes("add", a, b)
    dtype = _promoted(a, b)
    x, y = owner(a), owner(b)
    if x.layout != y.layout:
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have the same layout, got {shown_layout(a)} and "
            f"{shown_layout(b)}"
        )
    if x.layout != COO:
        if x.blocked and tuple(x.values.shape[1:]) != tuple(y.values.shape[1:]):
            raise RuntimeError("add: the tensors have blocks of different sizes")
        block = tuple(x.values.shape[1:3]) if x.blocked else None
        out = _add_sparse(coalesced(to_coo(a)), coalesced(to_coo(b)), alpha)
        name = ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")[x.layout]
        return to_sparse(out, name, block)
    if sparse_dim(a) != sparse_dim(b):
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same density, but 'self' has "
            f"{sparse_dim(a)} sparse dimensions while 'other' has {sparse_dim(b)} sparse dimensions"
        )
    indices = ops.cat([x.indices, y.indices], 1)
    p, q = _both(x.values, y.values, dtype)
    out = coo(indices, ops.cat([p, _scaled(q, alpha).to(dtype)]), a.shape)
    return coalesced(out) if x.coalesced and y.coalesced else out


def _promoted(a, b):
    return _C.promote_types(a.dtype, b.dtype)


def _add_to_dense(dense, t, alpha):
    """A dense tensor plus a sparse one, in place."""
    record = owner(t)
    if record.layout != COO or t.dtype == _C.bool:
        dense += spread(t) * alpha if t.dtype != _C.bool else spread(t)
        return dense
    at, values = record.parts()
    n = at.shape[0]
    if n == 0:
        return dense.add_(values.sum(0), alpha=alpha)
    if not dense.is_contiguous():
        return dense.copy_(_add_to_dense(dense.contiguous(), t, alpha))
    flat = dense.view((count(dense.shape[:n]), *dense.shape[n:]))
    flat.index_add_(0, keys(at, dense.shape[:n]), values.to(dense.dtype), alpha=alpha)
    return dense


@rule("add")
def add(a, b, alpha=1):
    if _number(a) or _number(b) and not (isinstance(b, Tensor) and not is_sparse(a)):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if is_sparse(a) and is_sparse(b):
        return _add_sparse(a, b, alpha)
    if is_sparse(b):
        _same_sizes("add", a, b)
        return _add_to_dense(a.detach().to(_promoted(a, b), copy=True), b, alpha)
    if owner(a).layout == COO:
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    _same_sizes("add", a, b)
    return spread(a).to(_promoted(a, b)) + _scaled(b.detach(), alpha)


@rule("sub")
def sub(a, b, alpha=1):
    return add(a, b, -alpha)


@rule("add_")
def add_(a, b, alpha=1):
    if not is_sparse(a):
        _same_sizes("add", a, b)
        _castable("add_", _promoted(a, b), a)
        return _add_to_dense(a.detach(), b, alpha)
    if not is_sparse(b):
        raise RuntimeError("add_(sparse, dense) is not supported: the sum would be dense")
    out = add(a, b, alpha)
    _castable("add_", out.dtype, a)
    return change(a, owner(out.to(a.dtype)))


@rule("sub_")
def sub_(a, b, alpha=1):
    return add_(a, b, -alpha)


def _castable(name, dtype, target):
    if not _C.can_cast(dtype, target.dtype):
        raise RuntimeError(
            f"{name}: result type {dtype} can't be cast to the desired output type {target.dtype}"
        )


# These commute with sums: equal indices stay apart.
@rule("neg")
def neg(t):
    return with_values(t, -owner(t).values)


@rule("conj_physical")
def conj(t):
    return with_values(t, owner(t).values.conj())


# ---- products and quotients ----------------------------------------------------------------------


def _mul_sparse(a, b):
    """The intersection of two sparse tensors."""
    x, y = owner(a), owner(b)
    if x.layout != y.layout:
        raise RuntimeError(
            f"mul(sparse, sparse): expected the same layout, got {shown_layout(a)} and "
            f"{shown_layout(b)}"
        )
    _same_sizes("mul", a, b)
    if x.layout != COO:
        if x.blocked:
            raise NotImplementedError(
                f"Could not run 'aten::mul' with arguments from the '{shown_layout(a)}CPU' "
                "backend: it has no rule for two tensors of blocks"
            )
        out = _mul_sparse(coalesced(to_coo(a)), coalesced(to_coo(b)))
        return to_sparse(out, "sparse_csr" if x.layout == CSR else "sparse_csc")
    if sparse_dim(a) != sparse_dim(b):
        raise RuntimeError(
            "mul(sparse, sparse): expected the same number of sparse dimensions, got "
            f"{sparse_dim(a)} and {sparse_dim(b)}"
        )
    flag = x.coalesced and y.coalesced
    a, b = coalesced(a), coalesced(b)
    x, y = owner(a), owner(b)
    if x.indices is y.indices:
        return coo(x.indices, x.values * y.values, a.shape, flag)
    sizes = a.shape[: x.indices.shape[0]]
    have, want = keys(y.indices, sizes), keys(x.indices, sizes)
    if have.shape[0] == 0 or want.shape[0] == 0:
        none = ops.zeros((0,), dtype=have.dtype)
        values = x.values.index_select(0, none) * y.values.new_zeros((0, *y.values.shape[1:]))
        return coo(x.indices.index_select(1, none), values, a.shape, True)
    place = ops.searchsorted(have, want).clamp_(max=have.shape[0] - 1)
    kept = ops.nonzero(have.index_select(0, place) == want).squeeze(1)
    values = x.values.index_select(0, kept) * y.values.index_select(0, place.index_select(0, kept))
    return coo(x.indices.index_select(1, kept), values, a.shape, flag)


def _mul_dense(t, dense):
    """A sparse tensor times a dense one: what is not specified stays so."""
    dense = dense.detach()
    if dense.dim() > t.dim():
        raise RuntimeError(
            f"mul(sparse, dense): the dense operand has more dimensions ({dense.dim()}) than the "
            f"sparse one ({t.dim()})"
        )
    try:
        wide = dense.expand(tuple(t.shape))
    except RuntimeError:
        raise RuntimeError(
            f"The size of tensor a {list(t.shape)} must match the size of tensor b "
            f"{list(dense.shape)} (mul of a sparse and a dense tensor)"
        ) from None
    return with_values(t, owner(t).values * take(wide, t))


@rule("mul")
def mul(a, b):
    if not is_sparse(a):
        a, b = b, a
    if not is_sparse(b):
        if _number(b):
            return with_values(a, owner(a).values * (b.detach() if isinstance(b, Tensor) else b))
        return _mul_dense(a, b)
    if b.dim() == 0 and a.dim() > 0:
        return with_values(a, owner(a).values * spread(b))
    if a.dim() == 0 and b.dim() > 0:
        return with_values(b, owner(b).values * spread(a))
    return _mul_sparse(a, b)


@rule("mul_")
def mul_(a, b):
    if not is_sparse(a):
        return a.detach().mul_(spread(b))
    out = mul(a, b)
    if not is_sparse(out):
        out = to_sparse(out, "sparse_coo")
    _castable("mul_", out.dtype, a)
    if _number(b):  # in the memory of the values
        owner(a).values.mul_(b.detach() if isinstance(b, Tensor) else b)
        return a
    return change(a, owner(out.to(a.dtype)))


def _divisor(name, a, b):
    if not _number(b):
        raise RuntimeError(
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
            f"{list(b.shape)} for divisor)"
        )
    if not is_sparse(a):
        raise RuntimeError(f"{name}: cannot divide by a sparse tensor")
    return b.detach() if isinstance(b, Tensor) else b


def _quotient(name, function, linear=False):
    @rule(name)
    def quotient(a, b, *rest):
        b = _divisor(name, a, b)
        if not linear and owner(a).layout == COO:
            a = coalesced(a)
        return with_values(a, function(owner(a).values, b, *rest))

    @rule(name + "_")
    def quotient_(a, b, *rest):
        out = quotient(a, b, *rest)
        _castable(name + "_", out.dtype, a)
        return change(a, owner(out))


_quotient("div", lambda v, b: v / b, linear=True)
_quotient("div_floor", lambda v, b: v.div(b, rounding_mode="floor"))
_quotient("div_trunc", lambda v, b: v.div(b, rounding_mode="trunc"))


@rule("_pow")
def power(t, exponent):
    if not is_sparse(t) or not _number(exponent):
        raise NotImplementedError(
            "Could not run 'aten::pow' with arguments from the 'SparseCPU' backend: the exponent "
            "must be a number and the base sparse"
        )
    if exponent == 0:
        raise RuntimeError(
            "pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor "
            "dense"
        )
    if owner(t).layout == COO:
        t = coalesced(t)
    return with_values(t, owner(t).values ** exponent)


# ---- sums ----------------------------------------------------------------------------------------


@rule("sum")
def total(t, dtype=None):
    return owner(t).values.sum(dtype=dtype)


def _dims(t, dim):
    out = sorted({_wrapped(d, t.dim()) for d in dim})
    if len(out) != len(dim):
        raise RuntimeError(f"dim {tuple(dim)} appears multiple times in the list of dims")
    return out


def _wrapped(d, n):
    if not -n <= d < max(n, 1):
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})"
        )
    return d % n if n else 0


@rule("_sparse_sum_dim")
def sum_dims(t, dim):
    record = owner(t)
    if record is None:
        return t.sum(dim)
    if record.layout != COO:
        raise NotImplementedError(
            "Could not run 'aten::_sparse_sum' with arguments from the "
            f"'{shown_layout(t)}CPU' backend: it has a rule for the layout sparse_coo only"
        )
    record = owner(coalesced(t))
    dims, n = _dims(t, dim), record.indices.shape[0]
    values = record.values
    dense = [d - n + 1 for d in dims if d >= n]
    if dense:
        values = values.sum(dense)
    kept = [d for d in range(n) if d not in dims]
    sizes = [s for d, s in enumerate(t.shape) if d not in dims]
    if len(kept) == n:
        return coo(record.indices, values, sizes, record.coalesced)
    if not kept:
        return values.sum(0)
    return coalesced(coo(ops.stack([record.indices[d] for d in kept]), values, sizes))


@rule("sum_dim")
def sum_dim(t, dim, keepdim=False, dtype=None):
    record = owner(t)
    if record.layout != COO:
        return _sum_compressed(t, dim, keepdim, dtype)
    dims = list(range(t.dim())) if dim is None or len(dim) == 0 else _dims(t, dim)
    if dtype is not None:
        t = with_values(t, record.values.to(dtype))
    elif not t.dtype.is_floating_point and not t.dtype.is_complex:
        t = with_values(t, record.values.to(_C.int64))
    if len(dims) == t.dim():
        out = owner(t).values.sum()
        return out.reshape((1,) * t.dim()) if keepdim else out
    out = sum_dims(t, dims)
    if keepdim:
        for d in dims:
            out = out.unsqueeze(d)
    return out


def _sum_compressed(t, dim, keepdim, dtype):
    values = owner(t).values
    if dim is None or len(_dims(t, dim)) in (0, 2):
        out = values.sum(dtype=dtype)
        return out.reshape((1,) * t.dim()) if keepdim else out
    if not keepdim:
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
    out = sum_dim(coalesced(to_coo(t)), dim, True, dtype)
    return to_sparse(out, "sparse_csr")


@rule("_sparse_sum_backward")
def sum_backward(grad, t, dim):
    t = coalesced(t)
    record = owner(t)
    dims, n = _dims(t, dim), record.indices.shape[0]
    kept = [d for d in range(n) if d not in dims]
    shape = tuple(record.values.shape)
    if not kept:
        values = spread(grad) if is_sparse(grad) else grad.detach()
        values = values.unsqueeze(0)
    else:
        if is_sparse(grad):
            grad = coalesced(grad)
        pattern = coo(
            ops.stack([record.indices[d] for d in kept]), _pattern_values(grad, shape), grad.shape
        )
        values = take(grad, pattern)
    for d in dims:
        if d >= n:
            values = values.unsqueeze(d - n + 1)
    return with_values(t, values.expand(shape).contiguous())


def _pattern_values(grad, shape):
    return ops.zeros((1,)).expand((shape[0],))


@rule("_vector_norm")
def vector_norm(t, p, dim, keepdim):
    record = owner(t)
    if dim is not None and len(_dims(t, dim)) not in (0, t.dim()):
        raise RuntimeError(
            "norm_sparse currently only supports full reductions, so 'dim' must be empty"
        )
    if record.layout != COO:
        raise NotImplementedError(
            f"Could not run 'aten::norm' with arguments from the '{shown_layout(t)}CPU' backend: "
            "it has a rule for the layout sparse_coo only"
        )
    out = ops._vector_norm(owner(coalesced(t)).values, p, None, False)
    return out.reshape((1,) * t.dim()) if keepdim else out


@rule("threshold_backward")
def threshold_backward(grad, t, threshold):
    if not is_sparse(t):
        return ops.threshold_backward(spread(grad), t.detach(), threshold)
    if not is_sparse(grad) or owner(grad).layout != owner(t).layout:
        grad = with_values(t, take(grad, t))
    if owner(t).layout == COO:
        grad = coalesced(grad)
    return with_values(grad, ops.threshold_backward(owner(grad).values, take(t, grad), threshold))


@rule("any")
def any_nonzero(t):
    return owner(t).values.any()


# ---- softmax -------------------------------------------------------------------------------------


def _softmax(t, dim, dtype, log):
    if owner(t) is None or owner(t).layout != COO:
        raise NotImplementedError(
            "Could not run 'aten::_sparse_softmax' with arguments from the "
            f"'{shown_layout(t)}CPU' backend: it has a rule for the layout sparse_coo only"
        )
    t = coalesced(t)
    dim = _wrapped(dim, t.dim())
    values = owner(t).values
    if dtype is not None:
        values = values.to(dtype)
    if not values.dtype.is_floating_point:
        name = "log_softmax" if log else "softmax"
        raise NotImplementedError(f"\"{name}\" not implemented for '{values.dtype}'")
    n = sparse_dim(t)
    if dim >= n:
        function = ops.log_softmax if log else ops.softmax
        return with_values(t, function(values, dim - n + 1))
    from .rules import groups

    of = groups(t, dim)
    if values.shape[0] == 0:
        return with_values(t, values)
    into = of.reshape((-1,) + (1,) * (values.dim() - 1)).expand(values.shape)
    largest = ops.scatter_reduce(values, 0, into, values, "amax", include_self=False)
    largest = largest.index_select(0, of)
    shifted = values - largest.masked_fill(largest.isinf(), 0)
    powers = shifted.exp()
    sums = ops.zeros_like(powers).index_add_(0, of, powers).index_select(0, of)
    return with_values(t, shifted - sums.log() if log else powers / sums)


@rule("_sparse_softmax")
def softmax(t, dim, dtype=None):
    return _softmax(t, dim, dtype, False)


@rule("_sparse_log_softmax")
def log_softmax(t, dim, dtype=None):
    return _softmax(t, dim, dtype, True)
