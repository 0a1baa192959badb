"""A set that keeps the order in which its members came."""

from __future__ import annotations

from collections.abc import MutableSet


class OrderedSet(MutableSet):
    """A set that keeps the order in which its members came.

    Example:
        >>> list(OrderedSet([3, 1, 3, 2]))
        [3, 1, 2]
    """

    def __init__(self, iterable=None):
        self._dict = dict.fromkeys(iterable or ())

    def __contains__(self, x):
        return x in self._dict

    def __iter__(self):
        return iter(self._dict)

    def __len__(self):
        return len(self._dict)

    def add(self, value):
        """Adds a member."""
        self._dict[value] = None

    def discard(self, value):
        """Removes a member, if it is one."""
        self._dict.pop(value, None)

    def update(self, *others):
        """Adds the members of others."""
        for other in others:
            self._dict.update(dict.fromkeys(other))

    def __repr__(self):
        return f"OrderedSet({list(self)})"
