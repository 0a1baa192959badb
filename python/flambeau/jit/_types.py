"""Whether a value has a type, within containers as well."""

from __future__ import annotations

import typing


def matches(obj, target):
    """Whether a value is of a type, or of one of several."""
    if isinstance(target, tuple):
        return any(matches(obj, t) for t in target)
    origin, args = typing.get_origin(target), typing.get_args(target)
    if origin is None:
        return target is typing.Any or isinstance(obj, target)
    if origin is typing.Union or str(origin) == "<class 'types.UnionType'>":
        return any(matches(obj, type(None) if t is None else t) for t in args)
    if not isinstance(obj, origin):
        return False
    if origin is tuple:
        if len(args) == 2 and args[1] is ...:
            return all(matches(x, args[0]) for x in obj)
        return len(args) == len(obj) and all(matches(x, t) for x, t in zip(obj, args))
    if origin is dict:
        return all(matches(k, args[0]) and matches(v, args[1]) for k, v in obj.items())
    return all(matches(x, args[0]) for x in obj)
