"""The registry of rules."""

from __future__ import annotations

from flambeau._C import Tensor, ops

from .record import Coo, change, coalesced, is_sparse, owner, shown_layout, with_values

RULES: dict = {}

# f(0) = 0: what a sparse tensor does not specify stays so. PyTorch's list.
KEEP_ZERO = frozenset(
    "abs asin asinh atan atanh ceil deg2rad erf erfinv expm1 floor frac isinf isnan isneginf"
    " isposinf log1p nan_to_num neg rad2deg relu round round_decimals sgn sign signbit sin sinh"
    " sqrt tan tanh trunc _angle _square _nan_to_num".split()
)


def rule(*names):
    def add(f):
        for name in names:
            RULES[name] = f
        return f

    return add


def find(name):
    """The rule of an operator that has none of its own."""
    base = name.removesuffix("_")
    if base in KEEP_ZERO:
        return _in_place(base) if name != base else _on_values(base)
    return _refusal(name)


def _split(name):
    """Function and overload of an entry's name."""
    from flambeau._ops import OPS

    return OPS[name].base if name in OPS else name


def _on_values(name):
    function = getattr(ops, _split(name))

    def run(t, *rest):
        if owner(t).layout == Coo.layout:
            t = coalesced(t)
        return with_values(t, function(owner(t).values, *rest))

    return run


def _in_place(name):
    function = getattr(ops, _split(name) + "_")

    def run(t, *rest):
        record = owner(coalesced(t)) if owner(t).layout == Coo.layout else owner(t)
        function(record.values, *rest)
        return change(t, record)

    return run


def _refusal(name):
    def refuse(*args):
        flat = [x for a in args for x in (a if isinstance(a, (tuple, list)) else (a,))]
        sparse = [t for t in flat if isinstance(t, Tensor) and is_sparse(t)]
        if not sparse and name.endswith(("_like", "empty", "zeros", "ones", "full")):
            return _plain_factory(name, args)
        kind = shown_layout(sparse[0]) if sparse else "Sparse"
        raise NotImplementedError(
            f"Could not run 'aten::{name.rstrip('_') if name.endswith('__') else name}' with "
            f"arguments from the '{kind}CPU' backend: it has no rule for sparse tensors. Call "
            "to_dense() first, or compute on indices() and values()"
        )

    return refuse


def _plain_factory(name, args):
    raise NotImplementedError(f"{name}: no rule for sparse tensors")
