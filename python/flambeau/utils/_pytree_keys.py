"""Steps of paths through trees, and which tuples have named fields (see `_pytree`)."""

from __future__ import annotations


class _Key:
    """One step from a container to a child; equal and hashed by type and value."""

    __slots__ = ("_value",)

    def __init__(self, value):
        self._value = value

    def __eq__(self, other):
        return type(self) is type(other) and self._value == other._value

    def __hash__(self):
        return hash((type(self).__name__, self._value))


class SequenceKey(_Key):
    """The step to an element of a sequence: ``[idx]``."""

    __slots__ = ()
    idx = property(lambda self: self._value)

    def __repr__(self):
        return f"SequenceKey(idx={self._value!r})"

    def __str__(self):
        return f"[{self._value!r}]"

    def get(self, sequence):
        return sequence[self._value]


class MappingKey(_Key):
    """The step to a value of a mapping: ``[key]``."""

    __slots__ = ()
    key = property(lambda self: self._value)

    def __repr__(self):
        return f"MappingKey(key={self._value!r})"

    def __str__(self):
        return f"[{self._value!r}]"

    def get(self, mapping):
        return mapping[self._value]


class GetAttrKey(_Key):
    """The step to an attribute: ``.name``."""

    __slots__ = ()
    name = property(lambda self: self._value)

    def __repr__(self):
        return f"GetAttrKey(name={self._value!r})"

    def __str__(self):
        return f".{self._value}"

    def get(self, obj):
        return getattr(obj, self._value)


def is_namedtuple_class(cls):
    """Whether a class is made by `collections.namedtuple` or derives from one."""
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and isinstance(getattr(cls, "_fields", None), tuple)
        and callable(getattr(cls, "_make", None))
        and callable(getattr(cls, "_asdict", None))
    )


def is_namedtuple_instance(obj):
    """Whether an object is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj):
    """Whether an object or a class is a named tuple."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls):
    """Whether a class is a struct sequence as C code makes them (`torch.return_types.max`)."""
    return (
        isinstance(cls, type)
        and cls.__bases__ == (tuple,)
        and isinstance(getattr(cls, "n_fields", None), int)
        and isinstance(getattr(cls, "n_sequence_fields", None), int)
    )


def is_structseq_instance(obj):
    """Whether an object is a struct sequence."""
    return is_structseq_class(type(obj))


def is_structseq(obj):
    """Whether an object or a class is a struct sequence."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))
