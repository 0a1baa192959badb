"""Nested containers of values ("trees"): flattening, rebuilding and mapping.

Containers are tuples, named tuples, lists, dicts, `OrderedDict`s, `defaultdict`s, `deque`s, sizes,
the named results of operators and what `register_pytree_node` adds; everything else, None included,
is a leaf. Dicts keep their order, as in PyTorch.
"""

from __future__ import annotations

import types
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any, NamedTuple

from flambeau._size import Size

from ._pytree_keys import (  # noqa: F401  (all public here)
    GetAttrKey,
    MappingKey,
    SequenceKey,
    is_namedtuple,
    is_namedtuple_class,
    is_namedtuple_instance,
    is_structseq,
    is_structseq_class,
    is_structseq_instance,
)

STANDARD_DICT_TYPES = frozenset({dict, OrderedDict, defaultdict})
NO_SERIALIZED_TYPE_NAME_FOUND = "NO_SERIALIZED_TYPE_NAME_FOUND"
Context = PyTree = Any


class NodeDef(NamedTuple):
    """How containers of a type are taken apart and put together again."""

    type: Any
    flatten_fn: Any
    unflatten_fn: Any
    flatten_with_keys_fn: Any


class ConstantNode(NamedTuple):
    """The context of an object registered as a constant: no children, the value itself."""

    value: Any


class _Serialized(NamedTuple):
    """How a type and its context are written by `treespec_dumps`."""

    name: str
    to_dumpable: Any
    from_dumpable: Any


SUPPORTED_NODES: dict[Any, NodeDef] = {}
CONSTANT_NODES: set[type] = set()
_SERIALIZED: dict[Any, _Serialized] = {}


def _numbered(flatten):
    def with_keys(tree):
        children, context = flatten(tree)
        return [(SequenceKey(i), child) for i, child in enumerate(children)], context

    return with_keys


def _flatten_sequence(tree):
    return list(tree), None


def _flatten_mapping(tree):
    return list(tree.values()), list(tree)


def _mapping_with_keys(tree):
    return [(MappingKey(key), child) for key, child in tree.items()], list(tree)


def _flatten_defaultdict(tree):
    return list(tree.values()), [tree.default_factory, list(tree)]


def _defaultdict_with_keys(tree):
    return _mapping_with_keys(tree)[0], [tree.default_factory, list(tree)]


def _flatten_deque(tree):
    return list(tree), tree.maxlen


def _flatten_namedtuple(tree):
    return list(tree), type(tree)


def _namedtuple_with_keys(tree):
    keys = map(GetAttrKey, type(tree)._fields)
    return list(zip(keys, tree)), type(tree)


def _add(cls, flatten, unflatten, with_keys=None, name=None, to_dumpable=None, from_dumpable=None):
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten, unflatten, with_keys)
    if name is None:
        name = NO_SERIALIZED_TYPE_NAME_FOUND
    _SERIALIZED[cls] = _Serialized(name, to_dumpable, from_dumpable)


def _add_builtin():
    for cls in (tuple, list):
        _add(
            cls,
            _flatten_sequence,
            lambda children, context, cls=cls: cls(children),
            _numbered(_flatten_sequence),
            f"builtins.{cls.__name__}",
        )
    _add(
        namedtuple,
        _flatten_namedtuple,
        lambda children, cls: cls(*children),
        _namedtuple_with_keys,
    )
    for cls, module in ((dict, "builtins"), (OrderedDict, "collections")):
        _add(
            cls,
            _flatten_mapping,
            lambda children, keys, cls=cls: cls(zip(keys, children)),
            _mapping_with_keys,
            f"{module}.{cls.__name__}",
        )
    _add(
        defaultdict,
        _flatten_defaultdict,
        lambda children, context: defaultdict(context[0], zip(context[1], children)),
        _defaultdict_with_keys,
    )
    _add(
        deque,
        _flatten_deque,
        lambda children, maxlen: deque(children, maxlen=maxlen),
        _numbered(_flatten_deque),
        "collections.deque",
    )
    # Of a mapped size nothing says that it holds integers.
    _add(Size, _flatten_sequence, lambda children, context: tuple(children), None, "torch.Size")


_add_builtin()


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
        cls: the class, not its subclasses.
        flatten_fn: gives the children of an instance and a context.
        unflatten_fn: makes an instance of children and context.

    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda parts, _: Pair(*parts))
    >>> tree_leaves([Pair(1, (2, 3)), 4])
    [1, 2, 3, 4]
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _private_register_pytree_node(
        cls,
        flatten_fn,
        unflatten_fn,
        serialized_type_name=serialized_type_name,
        to_dumpable_context=to_dumpable_context,
        from_dumpable_context=from_dumpable_context,
        flatten_with_keys_fn=flatten_with_keys_fn,
    )


def _private_register_pytree_node(
    cls,
    flatten_fn,
    unflatten_fn,
    to_str_fn=None,
    maybe_from_str_fn=None,
    *,
    serialized_type_name=None,
    to_dumpable_context=None,
    from_dumpable_context=None,
    flatten_with_keys_fn=None,
):
    """Registers anew what is registered already; the two functions of strings go unused."""
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or "
            "registered."
        )
    _add(
        cls,
        flatten_fn,
        unflatten_fn,
        flatten_with_keys_fn,
        serialized_type_name,
        to_dumpable_context,
        from_dumpable_context,
    )


_register_pytree_node = _private_register_pytree_node  # the older name


def _deregister_pytree_node(cls):
    """Undoes `register_pytree_node`."""
    del SUPPORTED_NODES[cls], _SERIALIZED[cls]
    CONSTANT_NODES.discard(cls)


def register_dataclass(cls, *, field_names=None, drop_field_names=None, serialized_type_name=None):
    """Makes instances of a dataclass containers of their fields; fields that are None stay out.

    >>> import dataclasses
    >>> @dataclasses.dataclass
    ... class Batch:
    ...     inputs: list
    ...     target: int
    >>> register_dataclass(Batch)
    >>> tree_map(lambda leaf: -leaf, Batch([1, 2], 3))
    Batch(inputs=[-1, -2], target=-3)
    """
    import dataclasses  # slow to import

    if field_names is None:
        if not dataclasses.is_dataclass(cls):
            raise ValueError(
                "field_names must be specified with a list of all fields used to initialize "
                f"{cls}, as it is not a dataclass."
            )
        field_names = [field.name for field in dataclasses.fields(cls) if field.init]
    else:
        field_names = list(field_names)
    dropped = list(drop_field_names or ())
    if dataclasses.is_dataclass(cls):
        present = {field.name for field in dataclasses.fields(cls) if field.init} - set(dropped)
        for what, names in (
            ("does not include all dataclass fields", present - set(field_names)),
            ("names what is no field, or a dropped one", set(field_names) - present),
        ):
            if names:
                raise ValueError(f"register_dataclass(): field_names {what}: {sorted(names)}.")

    def with_keys(obj):
        found, empty = [], []
        for name in field_names:
            value = getattr(obj, name)
            if value is None:
                empty.append(name)
            else:
                found.append((GetAttrKey(name), value))
        return found, [[key.name for key, _ in found], empty]

    def flatten(obj):
        found, context = with_keys(obj)
        return [value for _, value in found], context

    def unflatten(children, context):
        names, empty = context
        return cls(**dict(zip(names, children)), **dict.fromkeys(empty))

    _private_register_pytree_node(
        cls,
        flatten,
        unflatten,
        serialized_type_name=serialized_type_name,
        flatten_with_keys_fn=with_keys,
    )


def register_constant(cls):
    """Makes instances of a class containers without children, compared by their own ``==``."""
    if cls.__eq__ is object.__eq__:
        raise TypeError(
            "register_constant(cls) expects `cls` to have a non-default `__eq__` implementation."
        )
    if cls.__hash__ is None:
        raise TypeError(
            "register_constant(cls) expects `cls` to have a non-default `__hash__` implementation."
        )
    _private_register_pytree_node(
        cls,
        lambda obj: ([], ConstantNode(obj)),
        lambda children, context: context.value,
        flatten_with_keys_fn=lambda obj: ([], ConstantNode(obj)),
    )
    CONSTANT_NODES.add(cls)


def is_constant_class(cls):
    """Whether `register_constant` knows a class."""
    return isinstance(cls, type) and cls in CONSTANT_NODES


def _get_node_type(tree):
    cls = type(tree)
    return namedtuple if cls not in SUPPORTED_NODES and is_namedtuple_class(cls) else cls


def _node_of(tree):
    """The `NodeDef` of a container, or None of a leaf."""
    cls = type(tree)
    found = SUPPORTED_NODES.get(cls)
    if found is None and issubclass(cls, tuple):
        if is_namedtuple_class(cls):
            return SUPPORTED_NODES[namedtuple]
        if cls.__module__ == "torch.return_types" and is_structseq_class(cls):
            _add(cls, _flatten_sequence, lambda children, context: cls(children))
            return SUPPORTED_NODES[cls]
    return found


class TreeSpec:
    """The shape of a tree without its leaves.

    Attributes: `type` (None of a leaf), `context` (keys and the like), `num_leaves`, `num_nodes`,
    `num_children`.
    """

    __slots__ = ("_children", "context", "num_children", "num_leaves", "num_nodes", "type")

    def __init__(self, type, context, children_specs):
        self.type = type
        self.context = context
        self._children = children_specs
        self.num_children = len(children_specs)
        self.num_leaves = 1 if type is None else sum(c.num_leaves for c in children_specs)
        self.num_nodes = 1 + sum(c.num_nodes for c in children_specs)

    @property
    def children_specs(self):
        return self._children

    def children(self):
        """The specs of the children."""
        return self._children.copy()

    def child(self, index):
        """The spec of one child."""
        return self._children[index]

    def is_leaf(self):
        """Whether the tree is a single leaf."""
        return self.type is None

    def flatten_up_to(self, tree):
        """The subtrees of `tree` that stand where this spec has leaves."""
        subtrees: list = []
        _flatten_up_to(tree, self, subtrees)
        return subtrees

    def unflatten(self, leaves):
        """The tree with these leaves."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec "
                f"refers to a pytree that holds {self.num_leaves} items ({self})."
            )
        return _unflatten(iter(leaves), self)

    def __eq__(self, other):
        if self is other:
            return True
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (self.type, self.context, self._children) == (
            other.type,
            other.context,
            other._children,
        )

    def __hash__(self):
        return hash((self.type, self.num_leaves, tuple(self._children)))

    def _show(self, indent):
        if self.type is None:
            return "*"
        children = f",\n{' ' * (indent + 2)}".join(c._show(indent + 2) for c in self._children)
        return f"TreeSpec({self.type.__name__}, {self.context}, [{children}])"

    def __repr__(self):
        return self._show(0)

    def __reduce__(self):
        return TreeSpec, (self.type, self.context, self._children)


class LeafSpec(TreeSpec):
    """The spec of a single leaf."""

    __slots__ = ()

    def __init__(self):
        super().__init__(None, None, [])

    def __reduce__(self):
        return LeafSpec, ()


PyTreeSpec = TreeSpec
_LEAF_SPEC = LeafSpec()


def treespec_leaf():
    """The spec of a leaf."""
    return _LEAF_SPEC


def treespec_tuple(iterable=(), /):
    """The spec of a tuple with children of these specs."""
    return TreeSpec(tuple, None, list(iterable))


def treespec_dict(mapping=(), /, **kwargs):
    """The spec of a dict with values of these specs."""
    specs = dict(mapping, **kwargs)
    return TreeSpec(dict, list(specs), list(specs.values()))


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
    node = None if is_leaf is not None and is_leaf(tree) else _node_of(tree)
    if node is None:
        leaves.append(tree)
        return _LEAF_SPEC
    children, context = node.flatten_fn(tree)
    return TreeSpec(node.type, context, [_flatten(c, leaves, is_leaf) for c in children])


def tree_unflatten(leaves, treespec):
    """Builds the tree of a `TreeSpec` from its leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec "
            f"but got item of type {type(treespec)}."
        )
    return treespec.unflatten(leaves)


def _unflatten(leaves, spec):
    if spec.type is None:
        return next(leaves)
    children = [_unflatten(leaves, c) for c in spec._children]
    return SUPPORTED_NODES[spec.type].unflatten_fn(children, spec.context)


def tree_is_leaf(tree, is_leaf=None):
    """Whether a tree is a single leaf."""
    return (is_leaf is not None and is_leaf(tree)) or _node_of(tree) is None


_is_leaf = tree_is_leaf


def tree_leaves(tree, is_leaf=None):
    """The leaves of a tree."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree, is_leaf=None):
    """An iterator over the leaves of a tree."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree, is_leaf=None):
    """The `TreeSpec` of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def arg_tree_leaves(*args, **kwargs):
    """The leaves of the arguments of a call."""
    return tree_leaves((args, kwargs))


def tree_map(func, tree, *rests, is_leaf=None):
    """Applies a function to the leaves of one tree, or of several trees of the same shape.

    >>> tree_map(lambda x, y: x + y, [1, (2, 3)], [10, (20, 30)])
    [11, (22, 33)]
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(spec.flatten_up_to(rest) for rest in rests)]
    return _unflatten(iter([func(*args) for args in zip(*columns)]), spec)


def _flatten_up_to(tree, spec, subtrees):
    if spec.type is None:
        subtrees.append(tree)
        return
    node = _node_of(tree)
    kind = type(tree) if node is None else node.type
    both_dicts = kind in STANDARD_DICT_TYPES and spec.type in STANDARD_DICT_TYPES
    if kind is not spec.type and not both_dicts:
        raise ValueError(f"Node type mismatch; expected {spec.type!r}, but got {kind!r}.")
    children, context = node.flatten_fn(tree)
    if len(children) != spec.num_children:
        raise ValueError(
            f"Node arity mismatch; expected {spec.num_children}, but got {len(children)}."
        )
    if both_dicts:
        keys = spec.context[1] if spec.type is defaultdict else spec.context
        _check_keys(set(keys), set(tree))
        children = [tree[key] for key in keys]
    elif kind is not deque and context != spec.context:
        raise ValueError(
            f"Node context mismatch for custom node type {spec.type!r}: "
            f"expected {spec.context!r}, but got {context!r}."
        )
    for child, part in zip(children, spec._children):
        _flatten_up_to(child, part, subtrees)


def _check_keys(expected, got):
    if expected != got:
        missing, extra = expected - got, got - expected
        message = "".join(
            f"; {word} key(s): {keys}"
            for word, keys in (("missing", missing), ("extra", extra))
            if keys
        )
        raise ValueError(f"Node keys mismatch{message}.")


def tree_map_(func, tree, *rests, is_leaf=None):
    """Calls a function on the leaves for its effect; returns the tree itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _matcher(wanted):
    if isinstance(wanted, type | tuple | types.UnionType):
        return lambda leaf: isinstance(leaf, wanted)
    if callable(wanted):
        return wanted
    raise TypeError("Argument must be a type, a tuple of types, or a callable.")


def map_only(type_or_types_or_pred, /):
    """Makes of a function one that changes only values of a type (or for which it is true)."""
    matches = _matcher(type_or_types_or_pred)
    return lambda func: lambda leaf: func(leaf) if matches(leaf) else leaf


def tree_map_only(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """Applies a function to the leaves of a type (or tuple of types, or for which it is true)."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """`tree_map_only` for the effect; returns the tree itself."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    """Whether a predicate holds for all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """Whether a predicate holds for a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(type_or_types, /, pred, tree, is_leaf=None):
    """Whether a predicate holds for all leaves of a type."""
    matches = _matcher(type_or_types)
    return all(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if matches(leaf))


def tree_any_only(type_or_types, /, pred, tree, is_leaf=None):
    """Whether a predicate holds for a leaf of a type."""
    matches = _matcher(type_or_types)
    return any(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if matches(leaf))


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None):
    """The leaves of a tree, each repeated for the leaves that the spec has in its place.

    None where the tree is no prefix of the spec's tree.
    """
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    if treespec.is_leaf():
        return None
    node = _node_of(tree)
    children, context = node.flatten_fn(tree)
    if (
        node.type is not treespec.type
        or len(children) != treespec.num_children
        or context != treespec.context
    ):
        return None
    leaves: list = []
    for child, spec in zip(children, treespec._children):
        found = _broadcast_to_and_flatten(child, spec, is_leaf)
        if found is None:
            return None
        leaves += found
    return leaves


# -- with paths --------------------------------------------------------------------------------


def keystr(kp):
    """A path as it would be written in Python.

    >>> keystr((MappingKey("a"), SequenceKey(1), GetAttrKey("b")))
    "['a'][1].b"
    """
    return "".join(map(str, kp))


def key_get(obj, kp):
    """What stands at a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


def _paths(tree, path, is_leaf, found):
    node = None if is_leaf is not None and is_leaf(tree) else _node_of(tree)
    if node is None:
        found.append((path, tree))
        return
    if node.flatten_with_keys_fn is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {node.type}. Please pass a "
            "flatten_with_keys_fn argument to register_pytree_node."
        )
    for key, child in node.flatten_with_keys_fn(tree)[0]:
        _paths(child, (*path, key), is_leaf, found)


def tree_leaves_with_path(tree, is_leaf=None):
    """The leaves of a tree, each with the path to it.

    >>> [(keystr(path), leaf) for path, leaf in tree_leaves_with_path({"a": [1, 2]})]
    [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    found: list = []
    _paths(tree, (), is_leaf, found)
    return found


def tree_flatten_with_path(tree, is_leaf=None):
    """`tree_leaves_with_path` and the `TreeSpec`."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """`tree_map` of a function that takes the path to a leaf first."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [*zip(*found)] or [(), ()]
    columns += [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten(func(*args) for args in zip(*columns))


# -- as text -----------------------------------------------------------------------------------

_PROTOCOL = 1


def treespec_pprint(treespec):
    """A spec as a tree of stars."""

    class Star:
        def __repr__(self):
            return "*"

    return repr(treespec.unflatten([Star()] * treespec.num_leaves))


def treespec_dumps(treespec, protocol=None):
    """A spec as JSON, for `treespec_loads`."""
    import json

    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "treespec_dumps(treespec, protocol): Expected `treespec` to be instance of TreeSpec "
            f"but got item of type {type(treespec)}."
        )
    if protocol not in (None, _PROTOCOL):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{_PROTOCOL}]")

    def described(spec):
        if spec.is_leaf():
            return {"type": None, "context": None, "children_spec": []}
        written = _SERIALIZED[spec.type]
        if written.name == NO_SERIALIZED_TYPE_NAME_FOUND:
            raise NotImplementedError(
                f"No registered serialization name for {spec.type} found. Please update your "
                "_register_pytree_node call with a `serialized_type_name` kwarg."
            )
        dumpable = written.to_dumpable or (lambda context: json.dumps(context))
        return {
            "type": written.name,
            "context": dumpable(spec.context),
            "children_spec": [described(child) for child in spec._children],
        }

    return json.dumps((_PROTOCOL, described(treespec)))


def treespec_loads(serialized):
    """The spec that `treespec_dumps` wrote."""
    import json

    protocol, content = json.loads(serialized)
    if protocol != _PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{_PROTOCOL}]")
    known = {written.name: cls for cls, written in _SERIALIZED.items()}

    def built(part):
        if part["type"] is None:
            return _LEAF_SPEC
        if part["type"] not in known:
            raise NotImplementedError(f"Deserializing {part['type']!r}: no type has this name.")
        cls = known[part["type"]]
        loaded = _SERIALIZED[cls].from_dumpable or json.loads
        return TreeSpec(cls, loaded(part["context"]), [built(c) for c in part["children_spec"]])

    return built(content)


pytree_to_str, str_to_pytree = treespec_dumps, treespec_loads
