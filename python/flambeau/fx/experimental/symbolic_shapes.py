"""Sizes that are not known yet: there are none, so that questions have plain answers."""

from __future__ import annotations

from flambeau._absent import declare


class GuardOnDataDependentSymNode(RuntimeError):
    """The program depends on a value that is not known."""


class ConstraintViolationError(RuntimeError):
    """A size is not what was promised."""


declare(
    globals(),
    "symbolic shapes",
    classes="DimDynamic ShapeEnv StatelessSymbolicContext SymbolicContext",
)


def guard_size_oblivious(expr):
    """A condition: it is known.

    Example:
        >>> guard_size_oblivious(2 > 1)
        True
    """
    return bool(expr)


def guard_or_false(a):
    """A condition, or False where it is not known."""
    return bool(a)


def guard_or_true(a):
    """A condition, or True where it is not known."""
    return bool(a)


statically_known_true = guard_or_false


def is_concrete_int(a):
    """Whether a number is known."""
    return isinstance(a, int)


def is_concrete_bool(a):
    """Whether a truth value is known."""
    return isinstance(a, bool)


def is_concrete_float(a):
    """Whether a number is known."""
    return isinstance(a, float)


def has_free_symbols(val):
    """Whether a value depends on sizes that are not known: none does."""
    return False


has_symbolic_sizes_strides = free_unbacked_symbols = has_free_symbols


def hint_int(a, fallback=None):
    """The value of a size."""
    return int(a)


def guard_int(a):
    """The value of a size."""
    return int(a)


def guard_scalar(a):
    """The value of a number."""
    return a


def constrain_range(a, *, min, max=None):
    """Says what a size may be."""
    if a < min or (max is not None and a > max):
        raise ValueError(f"Invalid value {a} for range [{min}:{max}]")


def sym_eq(x, y):
    """Whether two sizes, or tuples of them, are equal."""
    return x == y


def definitely_true(a):
    """A condition."""
    return bool(a)


def definitely_false(a):
    """The opposite of a condition."""
    return not a
