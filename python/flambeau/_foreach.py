"""Operators over lists of tensors, `_foreach_add` and its like: one call for each tensor.

Numbers, lists of numbers, lists of tensors and tensors of one element may stand for the second
operand, as in PyTorch. A name that ends in ``_`` changes the first list in place.
"""

from __future__ import annotations

from . import _C
from ._C import Tensor, ops

_UNARY = (
    "abs acos asin atan ceil clone cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p"
    " log2 neg reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc zero"
).split()
_BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "div": "div", "pow": "pow",
    "clamp_max": "clamp_max", "clamp_min": "clamp_min", "maximum": "clamp_min",
    "minimum": "clamp_max",
}  # fmt: skip
_TERNARY = ("addcdiv", "addcmul")


def _check(name, tensors, *others):
    if not isinstance(tensors, list | tuple) or not all(isinstance(t, Tensor) for t in tensors):
        raise TypeError(f"_foreach_{name}(): argument 'self' must be tuple of Tensors")
    if not tensors:
        raise RuntimeError("Tensor list must have at least one tensor.")
    for other in others:
        if isinstance(other, list | tuple) and len(other) != len(tensors):
            raise RuntimeError(
                "Tensor lists must have the same number of tensors, got"
                f" {len(tensors)} and {len(other)}"
            )


def _each(value, count):
    return value if isinstance(value, list | tuple) else [value] * count


def _finish(name, in_place, tensors, results):
    return tensors if in_place else tuple(results)


def _unary(name):
    in_place = name.endswith("_")

    def function(self):
        _check(name, self)
        return _finish(name, in_place, self, [getattr(t, name)() for t in self])

    return function


def _binary(name, operator):
    in_place = name.endswith("_")
    bounded = operator.rstrip("_") in ("clamp_max", "clamp_min")

    def function(self, other, *, alpha=1):
        if isinstance(self, int | float | complex) and operator == "pow":
            return tuple(ops.pow(self, exponent) for exponent in other)
        _check(name, self, other)
        results = []
        for t, o in zip(self, _each(other, len(self))):
            if alpha != 1:
                results.append(getattr(t, operator)(o, alpha=alpha))
            elif bounded and isinstance(o, Tensor):
                larger = operator.startswith("clamp_min")
                found = ops.maximum(t, o) if larger else ops.minimum(t, o)
                results.append(t.copy_(found) if in_place else found)
            else:
                results.append(getattr(t, operator)(o))
        return _finish(name, in_place, self, results)

    return function


def _ternary(name):
    in_place = name.endswith("_")

    def function(self, tensor1, tensor2, scalars=None, *, value=1):
        values = value if scalars is None else scalars
        if isinstance(values, Tensor):
            values = values.tolist()
        _check(name, self, tensor1, tensor2, values)
        results = [
            getattr(t, name)(a, b, value=v)
            for t, a, b, v in zip(self, tensor1, tensor2, _each(values, len(self)))
        ]
        return _finish(name, in_place, self, results)

    return function


def _lerp(in_place):
    name = "lerp_" if in_place else "lerp"

    def function(self, tensors1, weights=None, *, weight=None):
        weights = weight if weights is None else weights
        _check("lerp", self, tensors1, weights)
        results = [
            getattr(t, name)(e, w) for t, e, w in zip(self, tensors1, _each(weights, len(self)))
        ]
        return _finish(name, in_place, self, results)

    return function


def _foreach_copy_(self, src, non_blocking=False):
    """Copies each tensor of one list into that of another."""
    _check("copy_", self, src)
    for t, s in zip(self, src):
        t.copy_(s)
    return self


def _foreach_norm(self, ord=2, dtype=None):
    """The norm of each tensor."""
    _check("norm", self)
    return tuple(_C.ops.linalg_vector_norm(t, ord, dtype=dtype) for t in self)


def _foreach_max(self):
    """The largest element of each tensor."""
    _check("max", self)
    return tuple(t.max() for t in self)


def _build():
    found = {
        "_foreach_copy_": _foreach_copy_, "_foreach_norm": _foreach_norm,
        "_foreach_max": _foreach_max,
        "_foreach_lerp": _lerp(False), "_foreach_lerp_": _lerp(True),
    }  # fmt: skip
    for end in ("", "_"):
        for name in _UNARY:
            if hasattr(Tensor, name + end):
                found[f"_foreach_{name}{end}"] = _unary(name + end)
        for name, operator in _BINARY.items():
            found[f"_foreach_{name}{end}"] = _binary(name + end, operator + end)
        for name in _TERNARY:
            found[f"_foreach_{name}{end}"] = _ternary(name + end)
    for name, function in found.items():
        function.__name__ = function.__qualname__ = name
    return found


FUNCTIONS = _build()


def __getattr__(name):
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
