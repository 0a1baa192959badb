"""Numbers that might be unknown, for programs that ask: here all are plain numbers."""

from __future__ import annotations

import math

from ._absent import missing

_PART = "symbolic shapes"


class _Symbolic:
    def __new__(cls, *args, **kwargs):
        raise missing(f"torch.{cls.__name__}", _PART)


class SymInt(_Symbolic):
    """An unknown int; no number is one."""


class SymFloat(_Symbolic):
    """An unknown float; no number is one."""


class SymBool(_Symbolic):
    """An unknown bool; no value is one."""


def sym_int(a):
    """The number cut to an int.

    Example:
        >>> sym_int(3.7), sym_int(-3.7)
        (3, -3)
    """
    return int(a)


def sym_float(a):
    """The number as a float.

    Example:
        >>> sym_float(3)
        3.0
    """
    return float(a)


def sym_not(a):
    """The opposite of a truth value.

    Example:
        >>> sym_not(True)
        False
    """
    return not a


def _common(a, b, chosen):
    both = isinstance(a, float) or isinstance(b, float)
    return float(chosen) if both else chosen


def sym_max(a, b):
    """The larger of two numbers, a float where one of them is.

    Example:
        >>> sym_max(1, 2), sym_max(1, 0.5)
        (2, 1.0)
    """
    return _common(a, b, max(a, b))


def sym_min(a, b):
    """The smaller of two numbers, a float where one of them is.

    Example:
        >>> sym_min(1, 2.5)
        1.0
    """
    return _common(a, b, min(a, b))


def sym_sqrt(a):
    """The square root of a number.

    Example:
        >>> sym_sqrt(4)
        2.0
    """
    return math.sqrt(a)


def sym_ite(b, t, f):
    """``t`` where ``b`` is True, else ``f``; both of one type.

    Example:
        >>> sym_ite(True, 1, 2)
        1
    """
    if type(t) is not type(f):
        raise AssertionError(f"types must match, got {type(t)} and {type(f)}")
    return t if b else f


def sym_sum(args):
    """The sum of several numbers.

    Example:
        >>> sym_sum([1, 2])
        3
    """
    return sum(args)


def sym_fresh_size(expr):
    """Not possible outside a capture of programs."""
    raise missing("torch.sym_fresh_size", _PART)


def sym_constrain_range(size, *, min=None, max=None):
    """Raises where a number lies outside a range."""
    low = -math.inf if min is None else min
    high = math.inf if max is None else max
    if not low <= size <= high:
        raise RuntimeError(f"Invalid value range for {size} between [{low}, {high}].")


def sym_constrain_range_for_size(size, *, min=None, max=None):
    """Raises where a size lies outside a range."""
    sym_constrain_range(size, min=0 if min is None else min, max=max)


def cond(pred, true_fn, false_fn, operands=()):
    """Calls one of two functions with the operands.

    Example:
        >>> import flambeau
        >>> cond(flambeau.tensor(True), lambda x: x + 1, lambda x: x - 1, (flambeau.ones(2),))
        tensor([2., 2.])
    """
    from ._C import Tensor

    if not isinstance(pred, bool | Tensor):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    if not isinstance(operands, tuple | list):
        raise RuntimeError(
            "Expect operands to be a tuple of possibly nested dict/list/tuple that only consists"
            f" of tensor leaves, but got {operands}."
        )
    return true_fn(*operands) if bool(pred) else false_fn(*operands)


def while_loop(cond_fn, body_fn, carried_inputs):
    """Applies a function to values as long as another is true of them.

    Example:
        >>> import flambeau
        >>> while_loop(lambda i: i < 3, lambda i: (i + 1,), (flambeau.tensor(0),))
        (tensor(3),)
    """
    if not callable(cond_fn):
        raise RuntimeError("Expect cond_fn to be callable.")
    if not callable(body_fn):
        raise RuntimeError("Expect body_fn to be callable.")
    if not isinstance(carried_inputs, tuple | list):
        raise RuntimeError(
            "Expect carried_inputs to be a tuple of possibly nested dict/list/tuple that only"
            f" consists of tensor or int leaves, but got {carried_inputs}."
        )
    values = tuple(carried_inputs)
    while bool(cond_fn(*values)):
        result = body_fn(*values)
        result = result if isinstance(result, tuple | list) else (result,)
        if len(result) != len(values):
            raise RuntimeError(
                f"body_fn should return the same number of elements as inputs, got {len(result)}"
                f" and {len(values)}"
            )
        values = tuple(result)
    return values
