"""The handle that every hook registration returns."""

from __future__ import annotations

import itertools
import weakref

_next_id = itertools.count()


class RemovableHandle:
    """Removes its hook from the dictionary it was registered in.

    Args:
        hooks_dict: the ordered dictionary that holds the hook, keyed by `handle.id`.
        extra_dict: a dictionary or a list of them that may hold the same key.

    >>> hooks = {}
    >>> with RemovableHandle(hooks) as handle:
    ...     hooks[handle.id] = print
    >>> len(hooks)
    0
    """

    def __init__(self, hooks_dict, *, extra_dict=None):
        self.hooks_dict_ref = _reference(hooks_dict)
        self.id = next(_next_id)
        if extra_dict is None:
            extra_dict = []
        elif isinstance(extra_dict, dict):
            extra_dict = [extra_dict]
        self.extra_dict_ref = tuple(_reference(d) for d in extra_dict)

    def remove(self):
        """Takes the hook out; a second call does nothing."""
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = ref()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self):
        dicts = (self.hooks_dict_ref, *self.extra_dict_ref)
        return (self.id, tuple(ref() for ref in dicts))

    def __setstate__(self, state):
        self.id, dicts = state
        refs = tuple(_reference({} if d is None else d) for d in dicts)
        self.hooks_dict_ref, self.extra_dict_ref = refs[0], refs[1:]

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        self.remove()


def _reference(hooks):
    # A plain dict takes no weak reference; holding it is harmless, it only keeps the dict alive.
    try:
        return weakref.ref(hooks)
    except TypeError:
        return lambda: hooks
