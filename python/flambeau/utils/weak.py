"""Dictionaries whose keys are objects by their identity, and do not keep them alive."""

from __future__ import annotations

import weakref
from collections.abc import MutableMapping
from typing import Any
from weakref import ref

WeakRef = ref


class WeakIdRef(weakref.ref):
    """A weak reference that is equal to others of the same object."""

    __slots__ = ("_id",)

    def __init__(self, key, callback=None):
        self._id = id(key)
        super().__init__(key, callback)  # type: ignore[call-arg]

    def __hash__(self):
        return self._id

    def __eq__(self, other):
        a, b = self(), other()
        return a is b if a is not None and b is not None else self is other


class TensorWeakRef:
    """A weak reference to a tensor.

    Example:
        >>> import flambeau
        >>> x = flambeau.ones(1)
        >>> r = TensorWeakRef(x)
        >>> r() is x
        True
    """

    def __init__(self, tensor):
        self.ref = weakref.ref(tensor)

    def __call__(self):
        return self.ref()


class WeakIdKeyDictionary(MutableMapping):
    """A dictionary that forgets a key's entry when the key is gone.

    Example:
        >>> import flambeau
        >>> names, x = WeakIdKeyDictionary(), flambeau.ones(2)
        >>> names[x] = "x"
        >>> names[x], flambeau.ones(2) in names
        ('x', False)
        >>> del x
        >>> len(names)
        0
    """

    def __init__(self, dict=None, ref_type=WeakIdRef):
        self.data: Any = {}
        self.ref_type = ref_type
        self_ref = weakref.ref(self)

        def remove(key):
            mapping = self_ref()
            if mapping is not None:
                mapping.data.pop(key, None)

        self._remove = remove
        if dict is not None:
            self.update(dict)

    def __delitem__(self, key):
        del self.data[self.ref_type(key)]

    def __getitem__(self, key):
        return self.data[self.ref_type(key)]

    def __setitem__(self, key, value):
        self.data[self.ref_type(key, self._remove)] = value  # type: ignore[index]

    def __contains__(self, key):
        try:
            return self.ref_type(key) in self.data
        except TypeError:
            return False

    def __len__(self):
        return len(self.data)

    def __iter__(self):
        reference: Any
        for reference in list(self.data):
            key = reference()
            if key is not None:
                yield key

    def __repr__(self):
        return f"<{type(self).__name__} at {id(self):#x}>"

    def copy(self):
        """Another dictionary with the same entries."""
        return type(self)(self, self.ref_type)  # type: ignore[arg-type]

    def keyrefs(self):
        """The weak references of the keys."""
        return list(self.data)


WeakTensorKeyDictionary = WeakIdKeyDictionary

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]
