"""Kullback-Leibler divergences, and the table of their formulas.

>>> from flambeau.distributions import Normal
>>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
tensor(0.5000)
"""

from __future__ import annotations

import warnings

import flambeau

__all__ = ["register_kl", "kl_divergence"]

_KL_REGISTRY: dict = {}  # (type of p, type of q): formula, as registered
_KL_MEMOIZE: dict = {}  # what dispatch found for a pair of types


def register_kl(type_p, type_q):
    """A decorator of a formula for a pair of types and, unless a nearer one exists, subtypes.

    Example:
        >>> class Flat(Distribution):
        ...     arg_constraints = {}
        >>> @register_kl(Flat, Flat)
        ... def _(p, q):
        ...     return 0.0
        >>> kl_divergence(Flat(), Flat())
        0.0

    Raises:
        TypeError: a type is no distribution.
    """
    for name, cls in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(cls, type):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {cls}")

    def decorator(fun):
        _KL_REGISTRY[type_p, type_q] = fun
        _KL_MEMOIZE.clear()  # what was found may not be the nearest any more
        return fun

    return decorator


def _nearest(pairs):
    """A pair that no other one is below, types of p compared first."""

    def below(a, b):
        """In lexicographic order of the subtype relation."""
        return issubclass(a[0], b[0]) if a[0] is not b[0] else issubclass(a[1], b[1])

    best = pairs[0]
    for pair in pairs[1:]:
        if below(pair, best):
            best = pair
    return best


def _dispatch_kl(type_p, type_q):
    """The formula of the nearest types, or NotImplemented.

    With several candidates none of which is nearest in both types, the nearest in p is taken, with
    a warning when the nearest in q is another one.
    """
    matches = [
        (sup_p, sup_q)
        for sup_p, sup_q in _KL_REGISTRY
        if issubclass(type_p, sup_p) and issubclass(type_q, sup_q)
    ]
    if not matches:
        return NotImplemented
    left_p, left_q = _nearest(matches)
    right_q, right_p = _nearest([(q, p) for p, q in matches])
    left_fun = _KL_REGISTRY[left_p, left_q]
    right_fun = _KL_REGISTRY[right_p, right_q]
    if left_fun is not right_fun:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please"
            f" register_kl({left_p.__name__}, {right_q.__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return left_fun


def kl_divergence(p, q):
    """The Kullback-Leibler divergence ``E_p[log p(x) - log q(x)]``, of shape ``batch_shape``.

    Example:
        >>> p, q = flambeau.distributions.Exponential(1.0), flambeau.distributions.Exponential(2.0)
        >>> kl_divergence(p, q)
        tensor(0.3069)

    Raises:
        NotImplementedError: no formula is registered for the types.
    """
    types = type(p), type(q)
    fun = _KL_MEMOIZE.get(types)
    if fun is None:
        fun = _KL_MEMOIZE[types] = _dispatch_kl(*types)
    if fun is NotImplemented:
        raise NotImplementedError(
            "No KL(p || q) is implemented for p type"
            f" {p.__class__.__name__} and q type {q.__class__.__name__}"
        )
    return fun(p, q)


def _infinite_like(tensor):
    return flambeau.full_like(tensor, flambeau.inf)


from . import _kl_formulas as _kl_formulas  # noqa: E402
