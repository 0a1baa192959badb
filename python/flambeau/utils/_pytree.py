"""Nested containers of values ("trees"): flattening, rebuilding and mapping.

Containers are tuples, named tuples, lists, dicts, `OrderedDict`s, `defaultdict`s, deques and what
`register_pytree_node` adds; everything else, None included, is a leaf. Dicts keep their order, as in
PyTorch.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any, NamedTuple

PyTree = Any
Context = Any
STANDARD_DICT_TYPES = frozenset({dict, OrderedDict, defaultdict})


class MappingKey(NamedTuple):
    """A step of a path: the value of a key."""

    key: Any

    def __str__(self):
        return f"[{self.key!r}]"

    def get(self, tree):
        """The subtree that the step leads to."""
        return tree[self.key]


class SequenceKey(NamedTuple):
    """A step of a path: an entry of a sequence."""

    idx: int

    def __str__(self):
        return f"[{self.idx!r}]"

    def get(self, tree):
        """The subtree that the step leads to."""
        return tree[self.idx]


class GetAttrKey(NamedTuple):
    """A step of a path: an attribute."""

    name: str

    def __str__(self):
        return f".{self.name}"

    def get(self, tree):
        """The subtree that the step leads to."""
        return getattr(tree, self.name)


KeyEntry = MappingKey | SequenceKey | GetAttrKey
KeyPath = tuple[KeyEntry, ...]


class NodeDef(NamedTuple):
    """How a kind of container is taken apart and built."""

    type: Any
    flatten_fn: Any
    unflatten_fn: Any
    flatten_with_keys_fn: Any = None


SUPPORTED_NODES: dict[Any, NodeDef] = {}


def _tuple_flatten(tree):
    return list(tree), None


def _list_flatten(tree):
    return list(tree), None


def _dict_flatten(tree):
    return list(tree.values()), list(tree)


def _dict_unflatten(values, context):
    return dict(zip(context, values))


def _ordereddict_flatten(tree):
    return list(tree.values()), list(tree)


def _defaultdict_flatten(tree):
    return list(tree.values()), [tree.default_factory, list(tree)]


def _defaultdict_unflatten(values, context):
    return defaultdict(context[0], zip(context[1], values))


def _namedtuple_flatten(tree):
    return list(tree), type(tree)


def _with_keys(flatten, keys):
    def flatten_with_keys(tree):
        children, context = flatten(tree)
        return list(zip(keys(tree), children)), context

    return flatten_with_keys


def _indices(tree):
    return [SequenceKey(i) for i in range(len(tree))]


def _mapping(tree):
    return [MappingKey(k) for k in tree]


def _fields(tree):
    return [GetAttrKey(name) for name in tree._fields]


def _add(cls, flatten, unflatten, keys):
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten, unflatten, _with_keys(flatten, keys))


_add(tuple, _tuple_flatten, lambda children, _: tuple(children), _indices)
_add(list, _list_flatten, lambda children, _: list(children), _indices)
_add(dict, _dict_flatten, _dict_unflatten, _mapping)
_add(namedtuple, _namedtuple_flatten, lambda children, cls: cls(*children), _fields)
_add(OrderedDict, _ordereddict_flatten, lambda v, keys: OrderedDict(zip(keys, v)), _mapping)
_add(defaultdict, _defaultdict_flatten, _defaultdict_unflatten, _mapping)
_add(deque, lambda tree: (list(tree), tree.maxlen), lambda c, n: deque(c, maxlen=n), _indices)
BUILTIN_TYPES = frozenset(SUPPORTED_NODES)


def is_namedtuple_class(cls):
    """Whether a class is one of named tuples."""
    fields = getattr(cls, "_fields", None)
    return isinstance(cls, type) and issubclass(cls, tuple) and isinstance(fields, tuple)


def is_namedtuple_instance(obj):
    """Whether a value is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj):
    """Whether a value, or class, is one of named tuples."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


_is_namedtuple_instance = is_namedtuple_instance


def is_structseq_class(cls):
    """Whether a class is one of results with names, as those of `torch.max`."""
    return (
        isinstance(cls, type)
        and cls.__bases__ == (tuple,)
        and all(isinstance(getattr(cls, n, None), int) for n in ("n_fields", "n_sequence_fields"))
    )


def is_structseq_instance(obj):
    """Whether a value is a result with names."""
    return is_structseq_class(type(obj))


def is_structseq(obj):
    """Whether a value, or class, is one of results with names."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def _get_node_type(tree):
    """The key of `SUPPORTED_NODES` for a value."""
    cls = type(tree)
    if cls not in SUPPORTED_NODES:
        if is_namedtuple_class(cls):
            return namedtuple
        if is_structseq_class(cls):
            return "structseq"
    return cls


SUPPORTED_NODES["structseq"] = NodeDef(
    "structseq",
    lambda tree: (list(tree), type(tree)),
    lambda children, cls: cls(tuple(children)),
    _with_keys(lambda tree: (list(tree), type(tree)), _indices),
)


def _is_leaf(tree, is_leaf=None):
    return (is_leaf is not None and is_leaf(tree)) or _get_node_type(tree) not in SUPPORTED_NODES


def tree_is_leaf(tree, is_leaf=None):
    """Whether a value is a leaf.

    >>> tree_is_leaf(1), tree_is_leaf(None), tree_is_leaf([1])
    (True, True, False)
    """
    return _is_leaf(tree, is_leaf)


def _unflatten_fn(kind):
    node = SUPPORTED_NODES.get(kind)
    if node is not None:
        return node.unflatten_fn
    name = namedtuple if is_namedtuple_class(kind) else "structseq"
    return SUPPORTED_NODES[name].unflatten_fn


class TreeSpec:
    """The shape of a tree without its leaves.

    Attributes: `type` (None of a leaf), `context` (keys), `children_specs`, `num_leaves`.
    """

    __slots__ = ("children_specs", "context", "num_children", "num_leaves", "num_nodes", "type")

    def __init__(self, type, context, children_specs):
        self.type = type
        self.context = context
        self.children_specs = list(children_specs)
        self.num_children = len(self.children_specs)
        self.num_nodes = 1 + sum(c.num_nodes for c in self.children_specs)
        self.num_leaves = 1 if type is None else sum(c.num_leaves for c in self.children_specs)

    def is_leaf(self):
        """Whether the tree is a single leaf."""
        return self.type is None

    def children(self):
        """The specs of the subtrees."""
        return list(self.children_specs)

    def child(self, index):
        """The spec of a subtree."""
        return self.children_specs[index]

    def flatten_up_to(self, tree):
        """The subtrees of ``tree`` that stand where this has leaves."""
        return _flatten_up_to(tree, self)

    def unflatten(self, leaves):
        """The tree with leaves."""
        return tree_unflatten(leaves, self)

    def _key(self):
        # a spec made by hand may hold a context that compares with a list
        return self.type, self.context, self.children_specs

    def __eq__(self, other):
        return self._key() == other._key() if isinstance(other, TreeSpec) else NotImplemented

    def __hash__(self):
        return hash((self.type, self.num_leaves, tuple(self.children_specs)))

    def __repr__(self, indent=0):
        if self.type is None:
            return "*"
        indent += 2
        name = getattr(self.type, "__name__", self.type)
        joint = ",\n" + " " * indent
        children = joint.join(c.__repr__(indent) for c in self.children_specs)
        context = self.context
        if name not in ("dict", "OrderedDict", "defaultdict") and isinstance(context, type):
            context = f"<class '{context.__module__}.{context.__qualname__}'>"
        return f"TreeSpec({name}, {context}, [{children}])"

    __str__ = __repr__


class _LeafSpecMeta(type):
    def __instancecheck__(cls, value):
        return type(value) in (LeafSpec, TreeSpec) and value.type is None


class LeafSpec(TreeSpec, metaclass=_LeafSpecMeta):
    """The shape of a leaf."""

    __slots__ = ()

    def __init__(self):
        super().__init__(None, None, [])

    def __repr__(self, indent=0):
        return "*"

    __str__ = __repr__


PyTreeSpec = TreeSpec
_LEAF = LeafSpec()


def treespec_leaf():
    """The spec of a leaf."""
    return _LEAF


def treespec_tuple(iterable=()):
    """The spec of a tuple of trees, from their specs."""
    return TreeSpec(tuple, None, list(iterable))


def treespec_dict(mapping=()):
    """The spec of a dict of trees, from their specs."""
    mapping = dict(mapping)
    return TreeSpec(dict, list(mapping), list(mapping.values()))


def tree_flatten(tree, is_leaf=None):
    """Returns the leaves of a tree and its `TreeSpec`.

    >>> leaves, spec = tree_flatten({"a": (1, 2), "b": 3})
    >>> leaves
    [1, 2, 3]
    >>> tree_unflatten(leaves, spec)
    {'a': (1, 2), 'b': 3}
    """
    leaves: list = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree, leaves, is_leaf):
    kind = None if is_leaf is not None and is_leaf(tree) else _get_node_type(tree)
    node = None if kind is None else SUPPORTED_NODES.get(kind)
    if node is None:
        leaves.append(tree)
        return _LEAF
    children, context = node.flatten_fn(tree)
    if kind == "structseq":
        kind, context = type(tree), None
    return TreeSpec(kind, context, [_flatten(c, leaves, is_leaf) for c in children])


def tree_unflatten(leaves, treespec):
    """Builds the tree of a `TreeSpec` from its leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec "
            f"but got item of type {type(treespec)}."
        )
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(
            f"tree_unflatten(leaves, treespec): `leaves` has length {len(leaves)} but the spec "
            f"refers to a pytree that holds {treespec.num_leaves} items ({treespec})."
        )
    return _unflatten(iter(leaves), treespec)


def _unflatten(leaves, spec):
    if spec.type is None:
        return next(leaves)
    children = [_unflatten(leaves, c) for c in spec.children_specs]
    context = spec.type if is_structseq_class(spec.type) else spec.context
    return _unflatten_fn(spec.type)(children, context)


def tree_leaves(tree, is_leaf=None):
    """The leaves of a tree."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree, is_leaf=None):
    """An iterator over the leaves of a tree."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree, is_leaf=None):
    """The `TreeSpec` of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func, tree, *rests, is_leaf=None):
    """Applies a function to the leaves of one tree, or of several trees of the same shape.

    >>> tree_map(lambda x, y: x + y, [1, (2, 3)], [10, (20, 30)])
    [11, (22, 33)]
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(_flatten_up_to(rest, spec) for rest in rests)]
    return _unflatten(iter([func(*args) for args in zip(*columns)]), spec)


def _flatten_up_to(tree, spec):
    """The subtrees of `tree` that stand where `spec` has leaves."""
    if spec.type is None:
        return [tree]
    kind = _get_node_type(tree)
    kind = type(tree) if kind == "structseq" else kind
    dicts = spec.type in STANDARD_DICT_TYPES and kind in STANDARD_DICT_TYPES
    if kind != spec.type and not dicts:
        raise ValueError(f"Type mismatch; expected {spec.type!r}, but got {type(tree)!r}.")
    node = SUPPORTED_NODES.get(kind) or SUPPORTED_NODES["structseq"]
    children, context = node.flatten_fn(tree)
    if dicts:
        keys = spec.context[1] if spec.type is defaultdict else spec.context
        if set(tree) != set(keys):
            raise ValueError(f"Node keys mismatch; expected {keys}, but got {list(tree)}.")
        children = [tree[key] for key in keys]
    if len(children) != len(spec.children_specs):
        raise ValueError(
            f"Node arity mismatch; expected {len(spec.children_specs)}, but got {len(children)}."
        )
    if not dicts and spec.type is not deque and spec.context is not None:
        if context != spec.context:
            raise ValueError(f"Node context mismatch; expected {spec.context!r}, got {context!r}.")
    parts = (_flatten_up_to(c, s) for c, s in zip(children, spec.children_specs))
    return [leaf for part in parts for leaf in part]


def tree_map_(func, tree, *rests, is_leaf=None):
    """Calls a function on the leaves for its effect; returns the tree itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _matcher(type_or_types_or_pred):
    if isinstance(type_or_types_or_pred, type | tuple) or not callable(type_or_types_or_pred):
        return lambda leaf: isinstance(leaf, type_or_types_or_pred)
    return type_or_types_or_pred


def map_only(type_or_types_or_pred, /):
    """A decorator: the function applies to values of a type, others stay as they are."""
    matches = _matcher(type_or_types_or_pred)
    return lambda func: lambda leaf: func(leaf) if matches(leaf) else leaf


def tree_map_only(type_or_types_or_pred, func, tree=None, is_leaf=None):
    """Applies a function to the leaves of a type (or tuple of types, or for which it is true)."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred, func, tree, is_leaf=None):
    """As `tree_map_only`, for the function's effect; returns the tree itself."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    """Whether a predicate holds for all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """Whether a predicate holds for a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(type_or_types, pred, tree, is_leaf=None):
    """Whether a predicate holds for all leaves of a type."""
    matches = _matcher(type_or_types)
    return all(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if matches(leaf))


def tree_any_only(type_or_types, pred, tree, is_leaf=None):
    """Whether a predicate holds for a leaf of a type."""
    matches = _matcher(type_or_types)
    return any(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if matches(leaf))


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None):
    """The leaves of a tree, each as often as the spec has leaves there; None where it cannot be."""
    if _is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    if treespec.is_leaf():
        return None
    kind = _get_node_type(tree)
    if kind != treespec.type:
        return None
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    result: list = []
    for child, spec in zip(children, treespec.children_specs):
        part = _broadcast_to_and_flatten(child, spec, is_leaf)
        if part is None:
            return None
        result += part
    return result


# ---- paths


def tree_flatten_with_path(tree, is_leaf=None):
    """Returns pairs of paths and leaves, and the `TreeSpec`.

    >>> tree_flatten_with_path({"a": [1]})[0]
    [((MappingKey(key='a'), SequenceKey(idx=0)), 1)]
    """
    return list(_walk((), tree, is_leaf)), tree_structure(tree, is_leaf)


def _walk(path, tree, is_leaf):
    if _is_leaf(tree, is_leaf):
        yield path, tree
        return
    kind = _get_node_type(tree)
    flatten = SUPPORTED_NODES[kind].flatten_with_keys_fn
    if flatten is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a"
            " flatten_with_keys_fn argument to register_pytree_node."
        )
    for key, child in flatten(tree)[0]:
        yield from _walk((*path, key), child, is_leaf)


def tree_leaves_with_path(tree, is_leaf=None):
    """Pairs of paths and leaves."""
    return list(_walk((), tree, is_leaf))


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """As `tree_map`; the function gets the path before the leaves.

    >>> tree_map_with_path(lambda path, x: keystr(path), [1, {"b": 2}])
    ['[0]', {'b': "[1]['b']"}]
    """
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [[p for p, _ in pairs], [x for _, x in pairs]]
    columns += [_flatten_up_to(rest, spec) for rest in rests]
    return _unflatten(iter([func(*args) for args in zip(*columns)]), spec)


def keystr(kp):
    """A path as text."""
    return "".join(str(key) for key in kp)


def key_get(obj, kp):
    """The subtree that a path leads to."""
    for key in kp:
        obj = key.get(obj)
    return obj


# ---- other containers

_serialized: dict[Any, tuple[str | None, Any, Any]] = {}


def _register_pytree_node(
    cls, flatten_fn, unflatten_fn, to_str_fn=None, maybe_from_str_fn=None, *,
    serialized_type_name=None, to_dumpable_context=None, from_dumpable_context=None,
    flatten_with_keys_fn=None,
):  # fmt: skip
    """`register_pytree_node`, which may replace what was registered."""
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    _serialized[cls] = (serialized_type_name, to_dumpable_context, from_dumpable_context)


_private_register_pytree_node = _register_pytree_node


def register_pytree_node(
    cls, flatten_fn, unflatten_fn, *, serialized_type_name=None, to_dumpable_context=None,
    from_dumpable_context=None, flatten_with_keys_fn=None,
):  # fmt: skip
    """Makes a class a container.

    Args:
        flatten_fn: gives the children and a context.
        unflatten_fn: builds an instance of children and context.

    >>> class Pair:
    ...     def __init__(self, a, b): self.a, self.b = a, b
    >>> register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda c, _: Pair(*c))
    >>> tree_leaves([Pair(1, 2), 3])
    [1, 2, 3]
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) ^ (from_dumpable_context is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or"
            " registered."
        )
    _register_pytree_node(
        cls, flatten_fn, unflatten_fn, serialized_type_name=serialized_type_name,
        to_dumpable_context=to_dumpable_context, from_dumpable_context=from_dumpable_context,
        flatten_with_keys_fn=flatten_with_keys_fn,
    )  # fmt: skip


def _deregister_pytree_node(cls):
    del SUPPORTED_NODES[cls]
    _serialized.pop(cls, None)


def register_dataclass(cls, *, field_names=None, drop_field_names=None, serialized_type_name=None):
    """Makes a dataclass a container of its fields."""
    if not dataclasses.is_dataclass(cls):
        raise TypeError(f"register_dataclass: expected a dataclass, got {cls}")
    names = [f.name for f in dataclasses.fields(cls) if f.init]
    names = [n for n in (field_names or names) if n not in (drop_field_names or ())]

    def flatten(value):
        present = [n for n in names if getattr(value, n) is not None]
        absent = [n for n in names if getattr(value, n) is None]
        return [getattr(value, n) for n in present], [present, absent]

    def unflatten(children, context):
        return cls(**dict(zip(context[0], children)), **dict.fromkeys(context[1]))

    def with_keys(value):
        children, context = flatten(value)
        return [(GetAttrKey(n), c) for n, c in zip(context[0], children)], context

    _register_pytree_node(
        cls, flatten, unflatten, serialized_type_name=serialized_type_name,
        flatten_with_keys_fn=with_keys,
    )  # fmt: skip


CONSTANT_NODES: set[type] = set()


def register_constant(cls):
    """Makes instances of a class part of the spec instead of leaves; they must be hashable."""
    if cls.__eq__ is object.__eq__ or cls.__hash__ is None:
        raise TypeError(f"register_constant: {cls} must define __eq__ and __hash__")
    _register_pytree_node(
        cls, lambda x: ([], x), lambda _, x: x, flatten_with_keys_fn=lambda x: ([], x)
    )
    CONSTANT_NODES.add(cls)


def is_constant_class(cls):
    """Whether `register_constant` was called with a class."""
    return isinstance(cls, type) and cls in CONSTANT_NODES


# ---- specs as text


def _type_name(kind):
    name, *_ = _serialized.get(kind, (None,))
    if name is not None:
        return name
    if kind is namedtuple:
        return "collections.namedtuple"
    if kind in BUILTIN_TYPES:
        return f"{kind.__module__}.{kind.__name__}"
    raise NotImplementedError(
        f"Serializing {kind} in pytree is not registered; register it with a serialized_type_name."
    )


def _class_name(cls):
    return None if cls is None else f"{cls.__module__}.{cls.__qualname__}"


def _class_of(name):
    import importlib

    if name is None:
        return None
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def _to_schema(spec):
    import json

    if spec.type is None:
        return {"type": None, "context": None, "children_spec": []}
    _, dump, _ = _serialized.get(spec.type, (None, None, None))
    if dump is not None:
        context = dump(spec.context)
        context = context if isinstance(context, str) else json.dumps(context)
    elif spec.type is defaultdict:
        factory, keys = spec.context
        context = json.dumps({"default_factory": _class_name(factory), "dict_context": keys})
    elif spec.type is namedtuple:
        context = json.dumps(_class_name(spec.context))
    else:
        try:
            context = json.dumps(spec.context)
        except TypeError as error:
            raise TypeError(f"Unable to serialize context {spec.context!r}") from error
    return {
        "type": _type_name(spec.type),
        "context": context,
        "children_spec": [_to_schema(c) for c in spec.children_specs],
    }


def _from_schema(schema):
    import json

    if schema["type"] is None:
        return _LEAF
    kind = next(
        (k for k in SUPPORTED_NODES if k != "structseq" and _safe_name(k) == schema["type"]), None
    )
    if kind is None:
        raise NotImplementedError(f"Deserializing {schema['type']} in pytree is not registered.")
    _, _, load = _serialized.get(kind, (None, None, None))
    if load is not None:
        try:
            context = load(json.loads(schema["context"]))
        except ValueError:
            context = load(schema["context"])
    else:
        context = json.loads(schema["context"])
        if kind is defaultdict:
            context = [_class_of(context["default_factory"]), context["dict_context"]]
        elif kind is namedtuple:
            context = _class_of(context)
    return TreeSpec(kind, context, [_from_schema(c) for c in schema["children_spec"]])


def _safe_name(kind):
    try:
        return _type_name(kind)
    except NotImplementedError:
        return None


def treespec_dumps(treespec, protocol=None):
    """A `TreeSpec` as text.

    >>> treespec_loads(treespec_dumps(tree_structure([1, {"a": 2}]))) == tree_structure([3, {"a": 4}])
    True
    """
    import json

    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "treespec_dumps(treespec): Expected `treespec` to be instance of TreeSpec but got item"
            f" of type {type(treespec)}."
        )
    if protocol not in (None, 1):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [1]")
    return json.dumps((1, _to_schema(treespec)), separators=(", ", ": "))


def treespec_loads(serialized):
    """The `TreeSpec` of a text."""
    import json

    protocol, schema = json.loads(serialized)
    if protocol != 1:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [1]")
    return _from_schema(schema)


def treespec_pprint(treespec):
    """A `TreeSpec` as text for readers."""
    return repr(tree_unflatten(["*"] * treespec.num_leaves, treespec)).replace("'*'", "*")
