"""Finds the rule by which an operator works on sparse tensors."""

from __future__ import annotations

from . import rules, rules_arith, rules_convert, rules_product, rules_shape
from .table import RULES, find

dispatch_modules = (rules, rules_arith, rules_convert, rules_product, rules_shape)


def dispatch(name, args):
    """Carries out operator ``name`` on arguments of which some may be sparse."""
    rule = RULES.get(name)
    if rule is None:
        rule = RULES[name] = find(name)
    return rule(*args)
