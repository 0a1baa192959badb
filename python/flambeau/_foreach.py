"""``_foreach_*``: one operator on every tensor of a list, for optimizers written with them.

They are loops over the operators: a call of ours costs too little for anything else to pay.
"""

from __future__ import annotations

import flambeau
from flambeau import Tensor

UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg"
    " reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"
).split()
# Name -> (whether a 0-d tensor may stand for the scalar, whether alpha scales a list).
BINARY = {
    "add": (True, True),
    "sub": (False, True),
    "mul": (True, False),
    "div": (True, False),
    "clamp_max": (False, False),
    "clamp_min": (False, False),
    "maximum": (False, False),
    "minimum": (False, False),
    "pow": (False, False),
}
_OF_SCALARS = {"maximum": "clamp_min", "minimum": "clamp_max"}  # what they are with a number
_NUMBERS = (int, float, complex)


def _kind(value):
    if isinstance(value, list | tuple):
        return "tuple of " + (_kind(value[0]) + "s" if value else "nothing")
    return "Number" if isinstance(value, _NUMBERS) else type(value).__name__


def _unfit(name, *arguments):
    got = ", ".join(map(_kind, arguments))
    return TypeError(
        f"{name}() received an invalid combination of arguments - got ({got}), but expected a list "
        "of tensors and, for each further operand, a list as long, of tensors or of numbers, or "
        "one number."
    )


def _tensors(name, value):
    if not isinstance(value, list | tuple) or not all(isinstance(t, Tensor) for t in value):
        raise _unfit(name, value)
    if not value:
        raise RuntimeError("Tensor list must have at least one tensor.")
    return value


def _tensors_beside(name, first, value):
    if not isinstance(value, list | tuple) or not all(isinstance(t, Tensor) for t in value):
        raise _unfit(name, first, value)
    if len(value) != len(first):
        raise RuntimeError(
            f"Tensor lists must have the same number of tensors, got {len(first)} and {len(value)}"
        )
    return value


def _numbers_beside(first, value):
    if len(value) != len(first):
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")
    return value


def _is_numbers(value):
    return isinstance(value, list | tuple) and all(isinstance(v, _NUMBERS) for v in value)


def _result(first, values, inplace):
    values = tuple(values)
    return first if inplace else values


def _unary(name, inplace):
    full = f"_foreach_{name}{'_' * inplace}"
    operator = getattr(Tensor, name + "_" * inplace)

    def each(self):
        return _result(self, [operator(t) for t in _tensors(full, self)], inplace)

    return each


def _binary(name, inplace):
    full = f"_foreach_{name}{'_' * inplace}"
    takes_tensor, takes_alpha = BINARY[name]
    operator = getattr(Tensor, name + "_" * inplace, None) or _in_place(getattr(flambeau, name))
    of_scalar = getattr(Tensor, _OF_SCALARS.get(name, name) + "_" * inplace)

    def each(self, other, *, alpha=1):
        if isinstance(self, _NUMBERS) and name == "pow" and not inplace:
            return tuple(flambeau.pow(self, t) for t in _tensors(full, other))
        _tensors(full, self)
        if alpha != 1 and not takes_alpha:
            raise TypeError(f"{full}() got an unexpected keyword argument 'alpha'")
        more = {} if alpha == 1 else {"alpha": alpha}
        if isinstance(other, _NUMBERS):
            values = [of_scalar(t, other) for t in self]
        elif isinstance(other, Tensor) and takes_tensor:
            if other.dim() != 0:
                raise RuntimeError(
                    f"scalar tensor expected to be 0 dim but it has {other.dim()} dimensions and "
                    f"{other.numel()} elements."
                )
            values = [operator(t, other, **more) for t in self]
        elif other and _is_numbers(other):
            values = [of_scalar(t, s) for t, s in zip(self, _numbers_beside(self, other))]
        else:
            others = _tensors_beside(full, self, other)
            values = [operator(t, o, **more) for t, o in zip(self, others)]
        return _result(self, values, inplace)

    def spelled(self, *args, **kwargs):
        for word in ("scalar", "scalars", "exponent"):
            if word in kwargs:
                kwargs["other"] = kwargs.pop(word)
        return each(self, *args, **kwargs)

    return spelled


def _in_place(function):
    return lambda t, other: t.copy_(function(t, other))


def _ternary(name, inplace):
    full = f"_foreach_{name}{'_' * inplace}"
    operator = getattr(Tensor, name + "_" * inplace)

    def each(self, tensor1, tensor2, value=1, *, scalars=None):
        _tensors(full, self)
        first = _tensors_beside(full, self, tensor1)
        second = _tensors_beside(full, self, tensor2)
        value = value if scalars is None else scalars
        if isinstance(value, Tensor):
            if value.dim() != 1:
                raise RuntimeError(
                    f"Expected packed scalar Tensor to be of dimension 1. Got {value.dim()} "
                    "instead."
                )
            if value.numel() != len(self):
                raise RuntimeError(
                    f"Expected length of scalars to match input of length {len(self)} but got "
                    f"{value.numel()} instead."
                )
            value = value.tolist()
        if _is_numbers(value):
            values = _numbers_beside(self, value)
        elif isinstance(value, _NUMBERS):
            values = [value] * len(self)
        else:
            raise _unfit(full, self, tensor1, tensor2, value)
        done = [operator(t, a, b, value=v) for t, a, b, v in zip(self, first, second, values)]
        return _result(self, done, inplace)

    return each


def _lerp(inplace):
    full = f"_foreach_lerp{'_' * inplace}"
    operator = Tensor.lerp_ if inplace else Tensor.lerp

    def each(self, tensors1, weight=None, *, weights=None):
        _tensors(full, self)
        ends = _tensors_beside(full, self, tensors1)
        weight = weight if weights is None else weights
        if isinstance(weight, _NUMBERS):
            weight = [weight] * len(self)
        elif _is_numbers(weight):
            _numbers_beside(self, weight)
        else:
            _tensors_beside(full, self, weight)
        return _result(self, [operator(t, e, w) for t, e, w in zip(self, ends, weight)], inplace)

    return each


def _foreach_norm(self, ord=2, dtype=None):
    """The vector norm of each tensor."""
    norm = flambeau.linalg.vector_norm
    return tuple(norm(t, ord, dtype=dtype) for t in _tensors("_foreach_norm", self))


def _foreach_powsum(self, ord=2, dtype=None):
    """Of each tensor the sum of powers, a vector norm without its root."""
    tensors = _tensors("_foreach_powsum", self)
    return tuple(t.to(dtype or t.dtype).abs().pow(ord).sum() for t in tensors)


def _foreach_max(self):
    """The greatest element of each tensor."""
    for t in _tensors("_foreach_max", self):
        if t.numel() == 0:
            raise RuntimeError(
                "_foreach_max cannot compute the maximum of an empty tensor; max over zero elements"
                " is undefined."
            )
    return tuple(t.max() for t in self)


def _foreach_mm(self, mat2):
    """The matrix products of pairs."""
    pairs = zip(_tensors("_foreach_mm", self), _tensors_beside("_foreach_mm", self, mat2))
    return tuple(a.mm(b) for a, b in pairs)


def _foreach_clone(self, *, memory_format=flambeau.preserve_format):
    """A copy of each tensor."""
    return tuple(t.clone(memory_format=memory_format) for t in _tensors("_foreach_clone", self))


def _foreach_copy_(self, src, non_blocking=False):
    """Copies each tensor of `src` into the one at its place."""
    sources = _tensors_beside("_foreach_copy_", _tensors("_foreach_copy_", self), src)
    for target, source in zip(self, sources):
        target.copy_(source, non_blocking)
    return self


def _foreach_zero_(self):
    """Sets all elements of all tensors to zero."""
    for t in _tensors("_foreach_zero_", self):
        t.zero_()
    return self


def _define():
    made: dict = {}
    for inplace in (False, True):
        made.update((name + "_" * inplace, _unary(name, inplace)) for name in UNARY)
        made.update((name + "_" * inplace, _binary(name, inplace)) for name in BINARY)
        for name in ("addcmul", "addcdiv"):
            made[name + "_" * inplace] = _ternary(name, inplace)
        made["lerp" + "_" * inplace] = _lerp(inplace)
    for name, function in made.items():
        function.__name__ = function.__qualname__ = f"_foreach_{name}"
        function.__doc__ = f"`{name}` on every tensor of a list."
        globals()[function.__name__] = function


_define()
