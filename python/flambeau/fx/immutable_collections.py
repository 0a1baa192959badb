"""Lists and dicts that do not change."""

from __future__ import annotations


def _refuse(self, *args, **kwargs):
    raise TypeError(f"{type(self).__name__!r} object does not support mutation")


class immutable_list(list):
    """A list that does not change.

    Example:
        >>> immutable_list([1, 2])[0]
        1
    """

    append = clear = extend = insert = pop = remove = reverse = sort = _refuse  # type: ignore
    __delitem__ = __setitem__ = __iadd__ = __imul__ = _refuse  # type: ignore

    def __hash__(self):  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self):
        return immutable_list, (tuple(self),)


class immutable_dict(dict):
    """A dict that does not change."""

    clear = pop = popitem = setdefault = update = _refuse  # type: ignore
    __delitem__ = __setitem__ = __ior__ = _refuse  # type: ignore

    def __hash__(self):  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self):
        return immutable_dict, (tuple(self.items()),)


__all__ = ["immutable_dict", "immutable_list"]
