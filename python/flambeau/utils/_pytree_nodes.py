"""What containers of trees there are (`_pytree`): kinds of classes, keys of paths, the registry."""

from __future__ import annotations

import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

PyTree = Any
Context = Any
DumpableContext = Any
FlattenFn = Callable[[PyTree], tuple[list[Any], Context]]
UnflattenFn = Callable[[Iterable[Any], Context], PyTree]
ToDumpableContextFn = Callable[[Context], DumpableContext]
FromDumpableContextFn = Callable[[DumpableContext], Context]

NO_SERIALIZED_TYPE_NAME_FOUND = "NO_SERIALIZED_TYPE_NAME_FOUND"


# Kinds of classes


def is_namedtuple_class(cls):
    """Whether a class was made by `collections.namedtuple` or `typing.NamedTuple`."""
    if not (isinstance(cls, type) and issubclass(cls, tuple)):
        return False
    fields = getattr(cls, "_fields", None)
    return (
        isinstance(fields, tuple)
        and all(type(field) is str for field in fields)
        and callable(getattr(cls, "_make", None))
        and callable(getattr(cls, "_asdict", None))
    )


def is_namedtuple_instance(obj):
    """Whether an object is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj):
    """Whether an object or class is a named tuple."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls):
    """Whether a class is a struct sequence: `time.struct_time`, the results of `max` …."""
    return (
        isinstance(cls, type)
        and cls.__bases__ == (tuple,)
        and all(
            isinstance(getattr(cls, name, None), int)
            for name in ("n_fields", "n_sequence_fields", "n_unnamed_fields")
        )
    )


def is_structseq_instance(obj):
    """Whether an object is a struct sequence."""
    return is_structseq_class(type(obj))


def is_structseq(obj):
    """Whether an object or class is a struct sequence."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


# Keys: one step of a path


class _Value:
    """A value object with one attribute, named by the first entry of `__slots__`."""

    __slots__: tuple[str, ...] = ()

    def __init_subclass__(cls):
        cls.__match_args__ = cls.__slots__  # type: ignore[misc]

    def _value(self):
        return getattr(self, self.__slots__[0])

    def __eq__(self, other):
        return self._value() == other._value() if type(other) is type(self) else NotImplemented

    def __hash__(self):
        return hash((type(self), self._value()))

    def __repr__(self):
        return f"{type(self).__name__}({self.__slots__[0]}={self._value()!r})"


class SequenceKey(_Value):
    """A position in a sequence."""

    __slots__ = ("idx",)

    def __init__(self, idx):
        self.idx = idx

    def __str__(self):
        return f"[{self.idx!r}]"

    def get(self, sequence):
        """The element."""
        return sequence[self.idx]


class MappingKey(_Value):
    """A key of a mapping."""

    __slots__ = ("key",)

    def __init__(self, key):
        self.key = key

    def __str__(self):
        return f"[{self.key!r}]"

    def get(self, mapping):
        """The value."""
        return mapping[self.key]


class GetAttrKey(_Value):
    """The name of an attribute."""

    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def __str__(self):
        return f".{self.name}"

    def get(self, obj):
        """The attribute's value."""
        return getattr(obj, self.name)


KeyEntry = SequenceKey | MappingKey | GetAttrKey
KeyPath = tuple[Any, ...]


def keystr(kp):
    """A path as Python would write it.

    >>> keystr((MappingKey("a"), SequenceKey(0)))
    "['a'][0]"
    """
    return "".join(map(str, kp))


def key_get(obj, kp):
    """What stands at a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


# Registry


class NodeDef(NamedTuple):
    """How containers of a type come apart and together."""

    type: Any
    flatten_fn: FlattenFn
    unflatten_fn: UnflattenFn
    flatten_with_keys_fn: Any


class _SerializeNodeDef(NamedTuple):
    typ: Any
    serialized_type_name: str
    to_dumpable_context: ToDumpableContextFn | None
    from_dumpable_context: FromDumpableContextFn | None


SUPPORTED_NODES: dict[Any, NodeDef] = {}
SUPPORTED_SERIALIZED_TYPES: dict[Any, _SerializeNodeDef] = {}
SERIALIZED_TYPE_TO_PYTHON_TYPE: dict[str, Any] = {}
CONSTANT_NODES: set[type] = set()
STANDARD_DICT_TYPES = frozenset({dict, OrderedDict, defaultdict})
BUILTIN_TYPES = frozenset({tuple, list, namedtuple, deque, *STANDARD_DICT_TYPES})


def register_pytree_node(
    cls,
    flatten_fn,
    unflatten_fn,
    *,
    serialized_type_name=None,
    to_dumpable_context=None,
    from_dumpable_context=None,
    flatten_with_keys_fn=None,
):
    """Makes instances of a class containers.

    Args:
        cls: the class itself; classes derived from it stay leaves.
        flatten_fn: gives the children and a context of an instance.
        unflatten_fn: builds an instance from children and context.
        serialized_type_name: stands for the class in `treespec_dumps`.
        to_dumpable_context, from_dumpable_context: the context to JSON and back; both or neither.
        flatten_with_keys_fn: like ``flatten_fn``, with a key beside each child.

    >>> from flambeau.utils._pytree import tree_map
    >>> class Pair:
    ...     def __init__(self, one, two):
    ...         self.one, self.two = one, two
    >>> register_pytree_node(Pair, lambda p: ([p.one, p.two], None), lambda c, _: Pair(*c))
    >>> tree_map(lambda x: x * 2, [Pair(1, 2)])[0].two
    4
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must "
            "be None or registered."
        )
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    name = serialized_type_name or NO_SERIALIZED_TYPE_NAME_FOUND
    SUPPORTED_SERIALIZED_TYPES[cls] = _SerializeNodeDef(
        cls, name, to_dumpable_context, from_dumpable_context
    )
    SERIALIZED_TYPE_TO_PYTHON_TYPE[name] = cls


_private_register_pytree_node = register_pytree_node


def _register_pytree_node(
    cls,
    flatten_fn,
    unflatten_fn,
    to_str_fn=None,
    maybe_from_str_fn=None,
    **options,
):
    """The old name of `register_pytree_node`."""
    if to_str_fn is not None or maybe_from_str_fn is not None:
        warnings.warn(
            "`to_str_fn` and `maybe_from_str_fn` is deprecated. Please use "
            "`to_dumpable_context` and `from_dumpable_context` instead.",
            FutureWarning,
            stacklevel=2,
        )
    register_pytree_node(cls, flatten_fn, unflatten_fn, **options)


def _deregister_pytree_node(cls):
    """Makes instances of a class leaves again."""
    del SUPPORTED_NODES[cls]
    name = SUPPORTED_SERIALIZED_TYPES.pop(cls).serialized_type_name
    SERIALIZED_TYPE_TO_PYTHON_TYPE.pop(name, None)
    CONSTANT_NODES.discard(cls)


def _register_namedtuple(cls, *, serialized_type_name):
    """Gives a named tuple a name for `treespec_dumps`."""
    SUPPORTED_SERIALIZED_TYPES[cls] = _SerializeNodeDef(cls, serialized_type_name, None, None)
    SERIALIZED_TYPE_TO_PYTHON_TYPE[serialized_type_name] = cls


def register_dataclass(cls, *, field_names=None, drop_field_names=None, serialized_type_name=None):
    """Makes a dataclass a container of its fields; fields that are None are left out.

    >>> import dataclasses
    >>> from flambeau.utils._pytree import tree_map
    >>> @dataclasses.dataclass
    ... class Point:
    ...     x: float
    ...     y: float
    >>> register_dataclass(Point)
    >>> tree_map(lambda value: value + 1, Point(1, 2))
    Point(x=2, y=3)
    """
    import dataclasses  # slow to import

    drop_field_names = drop_field_names or []
    if not dataclasses.is_dataclass(cls):
        if field_names is None:
            raise ValueError(
                "field_names must be specified with a list of all fields used to "
                f"initialize {cls}, as it is not a dataclass."
            )
    elif field_names is None:
        field_names = [field.name for field in dataclasses.fields(cls) if field.init]
    else:
        wanted = {field.name for field in dataclasses.fields(cls) if field.init}
        known = {*field_names, *drop_field_names}
        problems = []
        if missing := wanted - known:
            problems.append(f"Missing: {missing}.")
        if unknown := known - wanted:
            problems.append(f"Not a field: {unknown}.")
        if problems:
            raise ValueError(
                f"register_dataclass: field_names of {cls} must be those of its __init__. "
                + " ".join(problems)
            )

    def pairs(obj):
        given, absent = [], []
        for name in field_names:
            value = getattr(obj, name)
            if value is None:
                absent.append(name)
            else:
                given.append((name, value))
        return given, [[name for name, _ in given], absent]

    def flatten_fn(obj):
        given, context = pairs(obj)
        return [value for _, value in given], context

    def flatten_with_keys_fn(obj):
        given, context = pairs(obj)
        return [(GetAttrKey(name), value) for name, value in given], context

    def unflatten_fn(values, context):
        return cls(**dict(zip(context[0], values)), **dict.fromkeys(context[1]))

    register_pytree_node(
        cls,
        flatten_fn,
        unflatten_fn,
        serialized_type_name=serialized_type_name,
        flatten_with_keys_fn=flatten_with_keys_fn,
    )


class ConstantNode(_Value):
    """The context of a constant: the value itself."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


def register_constant(cls):
    """Makes instances of a class containers without leaves: part of the shape."""
    if cls.__eq__ is object.__eq__:
        raise TypeError(
            "register_constant(cls) expects `cls` to have a non-default `__eq__` implementation."
        )
    if cls.__hash__ is None:
        raise TypeError(
            "register_constant(cls) expects `cls` to have a non-default `__hash__` implementation."
        )
    register_pytree_node(
        cls,
        lambda obj: ([], ConstantNode(obj)),
        lambda _, context: context.value,
        flatten_with_keys_fn=lambda obj: ([], ConstantNode(obj)),
    )
    CONSTANT_NODES.add(cls)


def is_constant_class(cls):
    """Whether `register_constant` was called with a class."""
    return isinstance(cls, type) and cls in CONSTANT_NODES


def _is_constant_holder(spec):
    return isinstance(spec.context, ConstantNode)


def _retrieve_constant(spec):
    return spec.context.value


def _sequence_keys(children):
    return [(SequenceKey(index), child) for index, child in enumerate(children)]


def _register_sequence(cls, build):
    register_pytree_node(
        cls,
        lambda obj: (list(obj), None),
        lambda values, _: build(values),
        serialized_type_name=f"{cls.__module__}.{cls.__qualname__}",
        flatten_with_keys_fn=lambda obj: (_sequence_keys(obj), None),
    )


def _register_mapping(cls):
    register_pytree_node(
        cls,
        lambda obj: (list(obj.values()), list(obj)),
        lambda values, context: cls(zip(context, values)),
        serialized_type_name=f"{cls.__module__}.{cls.__qualname__}",
        flatten_with_keys_fn=lambda obj: ([(MappingKey(k), v) for k, v in obj.items()], list(obj)),
    )


def _write_factory(context):
    factory, keys = context
    return {
        "default_factory_module": getattr(factory, "__module__", None),
        "default_factory_name": getattr(factory, "__qualname__", None),
        "dict_context": keys,
    }


def _read_factory(dumped):
    import importlib

    factory = None
    if dumped["default_factory_name"] is not None:
        factory = importlib.import_module(dumped["default_factory_module"])
        for part in dumped["default_factory_name"].split("."):
            factory = getattr(factory, part)
    return [factory, dumped["dict_context"]]


def _write_namedtuple(context):
    if context not in SUPPORTED_SERIALIZED_TYPES:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {context} because we didn't register "
            "a serializated_type_name. Please register using `_register_namedtuple`."
        )
    name = SUPPORTED_SERIALIZED_TYPES[context].serialized_type_name
    if name == NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {context} because we couldn't find "
            "a serializated_type_name. Please register using `_register_namedtuple`."
        )
    return name


def _read_namedtuple(dumped):
    if dumped not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(
            f"Can't deserialize TreeSpec of namedtuple class {dumped} because we couldn't find a "
            "serializated name."
        )
    return SERIALIZED_TYPE_TO_PYTHON_TYPE[dumped]


_register_sequence(tuple, tuple)
_register_sequence(list, list)
_register_mapping(dict)
register_pytree_node(
    namedtuple,
    lambda obj: (list(obj), type(obj)),
    lambda values, cls: cls(*values),
    serialized_type_name="collections.namedtuple",
    to_dumpable_context=_write_namedtuple,
    from_dumpable_context=_read_namedtuple,
    flatten_with_keys_fn=lambda obj: (
        [(GetAttrKey(name), value) for name, value in zip(obj._fields, obj)],
        type(obj),
    ),
)
_register_mapping(OrderedDict)
register_pytree_node(
    defaultdict,
    lambda obj: (list(obj.values()), [obj.default_factory, list(obj)]),
    lambda values, context: defaultdict(context[0], zip(context[1], values)),
    serialized_type_name="collections.defaultdict",
    to_dumpable_context=_write_factory,
    from_dumpable_context=_read_factory,
    flatten_with_keys_fn=lambda obj: (
        [(MappingKey(key), value) for key, value in obj.items()],
        [obj.default_factory, list(obj)],
    ),
)
register_pytree_node(
    deque,
    lambda obj: (list(obj), obj.maxlen),
    lambda values, maxlen: deque(values, maxlen=maxlen),
    serialized_type_name="collections.deque",
    flatten_with_keys_fn=lambda obj: (_sequence_keys(obj), obj.maxlen),
)


def _get_node_type(tree):
    cls = type(tree)
    if is_namedtuple_class(cls):  # registered or not
        return namedtuple
    if cls in SUPPORTED_NODES:
        return cls
    if cls.__module__ == "torch.return_types" and is_structseq_class(cls):
        _register_sequence(cls, cls)
    elif cls.__module__ == "torch" and cls.__name__ == "Size":
        _register_sequence(cls, cls)
    return cls
