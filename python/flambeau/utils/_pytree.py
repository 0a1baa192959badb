"""Nested containers of values ("trees"): flattening, rebuilding and mapping.

Containers are tuples, named tuples, lists, dicts, `OrderedDict`s, `defaultdict`s, deques, the named
results of operators, and what `register_pytree_node` adds; everything else, None included, is a
leaf. Dicts keep their order, as in PyTorch. The registry is in
`_pytree_nodes`, the text form of shapes in `_pytree_text`.
"""

# ruff: noqa: F401  (names of the public module)
from __future__ import annotations

import types
from collections import OrderedDict, defaultdict, deque, namedtuple

from ._pytree_nodes import (
    BUILTIN_TYPES,
    CONSTANT_NODES,
    NO_SERIALIZED_TYPE_NAME_FOUND,
    SERIALIZED_TYPE_TO_PYTHON_TYPE,
    STANDARD_DICT_TYPES,
    SUPPORTED_NODES,
    SUPPORTED_SERIALIZED_TYPES,
    ConstantNode,
    Context,
    DumpableContext,
    FlattenFn,
    FromDumpableContextFn,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    MappingKey,
    NodeDef,
    PyTree,
    SequenceKey,
    ToDumpableContextFn,
    UnflattenFn,
    _deregister_pytree_node,
    _get_node_type,
    _is_constant_holder,
    _private_register_pytree_node,
    _register_namedtuple,
    _register_pytree_node,
    _retrieve_constant,
    is_constant_class,
    is_namedtuple,
    is_namedtuple_class,
    is_namedtuple_instance,
    is_structseq,
    is_structseq_class,
    is_structseq_instance,
    key_get,
    keystr,
    register_constant,
    register_dataclass,
    register_pytree_node,
)

__all__ = [
    "PyTree", "Context", "FlattenFn", "UnflattenFn", "DumpableContext", "ToDumpableContextFn",
    "FromDumpableContextFn", "PyTreeSpec", "TreeSpec", "LeafSpec", "keystr", "key_get",
    "register_pytree_node", "tree_is_leaf", "tree_flatten", "tree_flatten_with_path",
    "tree_unflatten", "tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_structure",
    "tree_map", "tree_map_with_path", "tree_map_", "tree_map_only", "tree_map_only_", "tree_all",
    "tree_any", "tree_all_only", "tree_any_only", "treespec_dumps", "treespec_loads",
    "treespec_pprint", "is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance",
    "is_structseq", "is_structseq_class", "is_structseq_instance",
]  # fmt: skip

# Packages register classes of their own with these.
_tuple_flatten, _tuple_unflatten, _tuple_flatten_with_keys = SUPPORTED_NODES[tuple][1:]
_list_flatten, _list_unflatten, _list_flatten_with_keys = SUPPORTED_NODES[list][1:]
_dict_flatten, _dict_unflatten, _dict_flatten_with_keys = SUPPORTED_NODES[dict][1:]
_ordereddict_flatten, _ordereddict_unflatten, _ordereddict_flatten_with_keys = SUPPORTED_NODES[
    OrderedDict
][1:]
_defaultdict_flatten, _defaultdict_unflatten, _defaultdict_flatten_with_keys = SUPPORTED_NODES[
    defaultdict
][1:]
_deque_flatten, _deque_unflatten, _deque_flatten_with_keys = SUPPORTED_NODES[deque][1:]
_namedtuple_flatten, _namedtuple_unflatten, _namedtuple_flatten_with_keys = SUPPORTED_NODES[
    namedtuple
][1:]
_odict_flatten, _odict_unflatten = _ordereddict_flatten, _ordereddict_unflatten

# Shapes


class TreeSpec:
    """The shape of a tree without its leaves.

    Attributes: `type` (None of a leaf), `context` (keys), `children_specs`, and the counts
    `num_leaves`, `num_nodes`, `num_children`.
    """

    __slots__ = ("_children", "context", "num_children", "num_leaves", "num_nodes", "type")

    def __init__(self, type, context, children_specs):
        self.type = type
        self.context = context
        self._children = children_specs
        self.num_children = len(children_specs)
        self.num_nodes = 1 + sum(child.num_nodes for child in children_specs)
        self.num_leaves = 1 if type is None else sum(c.num_leaves for c in children_specs)

    @property
    def children_specs(self):
        return self._children

    def is_leaf(self):
        """Whether the tree is a single leaf."""
        return self.type is None

    def children(self):
        """The shapes of the children."""
        return list(self._children)

    def child(self, index):
        """The shape of one child."""
        return self._children[index]

    def unflatten(self, leaves):
        """Builds the tree."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec "
                f"refers to a pytree that holds {self.num_leaves} items ({self})."
            )
        return _unflatten(iter(leaves), self)

    def flatten_up_to(self, tree):
        """The subtrees of `tree` that stand where this shape has leaves."""
        subtrees: list = []
        _flatten_up_to(tree, self, subtrees)
        return subtrees

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

    def __repr__(self):
        return self._text(0)

    def _text(self, indent):
        if self.type is None:
            return "*"
        inner = indent + 2
        children = (",\n" + " " * inner).join(child._text(inner) for child in self._children)
        return f"TreeSpec({self.type.__name__}, {self.context}, [{children}])"


PyTreeSpec = TreeSpec
_LEAF_SPEC = TreeSpec(None, None, [])


class _LeafSpecClass(type):
    def __instancecheck__(cls, instance):
        return isinstance(instance, TreeSpec) and instance.is_leaf()


class LeafSpec(metaclass=_LeafSpecClass):
    """The shape of a leaf: calling gives the one there is; its instances are all such shapes."""

    def __new__(cls):
        return _LEAF_SPEC


def treespec_leaf():
    """The shape of a leaf."""
    return _LEAF_SPEC


def treespec_tuple(iterable=(), /):
    """The shape of a tuple of trees."""
    return TreeSpec(tuple, None, list(iterable))


def treespec_dict(mapping=(), /, **kwargs):
    """The shape of a dict of trees."""
    specs = dict(mapping, **kwargs)
    return TreeSpec(dict, list(specs), list(specs.values()))


# Flattening and building


def tree_is_leaf(tree, is_leaf=None):
    """Whether a tree is a single leaf."""
    if is_leaf is not None and is_leaf(tree):
        return True
    return _get_node_type(tree) not in SUPPORTED_NODES


_is_leaf = tree_is_leaf


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
    cls = _get_node_type(tree)
    node = SUPPORTED_NODES.get(cls)
    if node is None or is_leaf is not None and is_leaf(tree):
        leaves.append(tree)
        return _LEAF_SPEC
    children, context = node.flatten_fn(tree)
    return TreeSpec(cls, context, [_flatten(child, leaves, is_leaf) for child in children])


def tree_unflatten(leaves, treespec):
    """Builds the tree of a `TreeSpec` from its leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "tree_unflatten(leaves, treespec): Expected `treespec` to be instance of PyTreeSpec "
            f"but got item of type {type(treespec)}."
        )
    return treespec.unflatten(leaves)


def _unflatten(leaves, spec):
    if spec.type is None:
        return next(leaves)
    children = [_unflatten(leaves, child) for child in spec._children]
    return SUPPORTED_NODES[spec.type].unflatten_fn(children, spec.context)


def tree_leaves(tree, is_leaf=None):
    """The leaves of a tree."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree, is_leaf=None):
    """An iterator over the leaves of a tree."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
        return
    for child in SUPPORTED_NODES[_get_node_type(tree)].flatten_fn(tree)[0]:
        yield from tree_iter(child, is_leaf)


def tree_structure(tree, is_leaf=None):
    """The `TreeSpec` of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def arg_tree_leaves(*args, **kwargs):
    """The leaves of all arguments."""
    return [leaf for value in (*args, *kwargs.values()) for leaf in tree_leaves(value)]


def _flatten_up_to(tree, spec, subtrees):
    if spec.type is None:
        subtrees.append(tree)
        return
    cls = _get_node_type(tree)
    both_dicts = spec.type in STANDARD_DICT_TYPES and cls in STANDARD_DICT_TYPES
    if cls is not spec.type and not both_dicts:
        raise ValueError(f"Node type mismatch; expected {spec.type!r}, but got {cls!r}.")
    if cls not in SUPPORTED_NODES:
        raise ValueError(f"Node type mismatch; {cls!r} is not a registered container.")
    if both_dicts:
        keys = spec.context[1] if spec.type is defaultdict else spec.context
        missing, extra = set(keys) - set(tree), set(tree) - set(keys)
        if missing or extra:
            message = f"; missing key(s): {missing}" if missing else ""
            message += f"; extra key(s): {extra}" if extra else ""
            raise ValueError(f"Node keys mismatch{message}.")
        children = [tree[key] for key in keys]
    else:
        children, context = SUPPORTED_NODES[cls].flatten_fn(tree)
        if len(children) != spec.num_children:
            raise ValueError(
                f"Node arity mismatch; expected {spec.num_children}, but got {len(children)}."
            )
        # The length to which a deque may grow is no part of its shape.
        if cls is not deque and context != spec.context:
            raise ValueError(
                f"Node context mismatch for custom node type {spec.type!r}: expected "
                f"{spec.context!r}, but got {context!r}."
            )
    for child, child_spec in zip(children, spec._children):
        _flatten_up_to(child, child_spec, subtrees)


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None):
    """Leaves of `tree`, each repeated for the leaves of `treespec` below it; None: do not fit."""
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    cls = _get_node_type(tree)
    if treespec.is_leaf() or cls is not treespec.type:
        return None
    children, context = SUPPORTED_NODES[cls].flatten_fn(tree)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    leaves: list = []
    for child, spec in zip(children, treespec._children):
        part = _broadcast_to_and_flatten(child, spec, is_leaf)
        if part is None:
            return None
        leaves += part
    return leaves


# Paths


def tree_flatten_with_path(tree, is_leaf=None):
    """Pairs (path, leaf), and the `TreeSpec`.

    >>> [(keystr(path), leaf) for path, leaf in tree_flatten_with_path({"a": [1, 2]})[0]]
    [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    return list(_paths((), tree, is_leaf)), tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree, is_leaf=None):
    """Pairs (path, leaf)."""
    return list(_paths((), tree, is_leaf))


def _paths(path, tree, is_leaf):
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    node = SUPPORTED_NODES[_get_node_type(tree)]
    if node.flatten_with_keys_fn is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {type(tree)}. "
            "Please pass a flatten_with_keys_fn argument to register_pytree_node."
        )
    for key, child in node.flatten_with_keys_fn(tree)[0]:
        yield from _paths((*path, key), child, is_leaf)


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """Like `tree_map`; the function gets the path first.

    >>> tree_map_with_path(lambda path, x: f"{keystr(path)}={x}", {"a": 1})
    {'a': "['a']=1"}
    """
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten([func(*pair, *others) for pair, *others in zip(pairs, *columns)])


# Mapping and asking


def tree_map(func, tree, *rests, is_leaf=None):
    """Applies a function to the leaves of one tree, or of several trees of the same shape.

    >>> tree_map(lambda x, y: x + y, [1, (2, 3)], [10, (20, 30)])
    [11, (22, 33)]
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(spec.flatten_up_to(rest) for rest in rests)]
    return spec.unflatten(list(map(func, *columns)))


def tree_map_(func, tree, *rests, is_leaf=None):
    """Calls a function on the leaves for its effect; returns the tree itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def map_only(type_or_types_or_pred, /):
    """A decorator: the function applies to values of a type, others pass unchanged.

    >>> map_only(int)(lambda x: x + 1)("one")
    'one'
    """
    if isinstance(type_or_types_or_pred, type | tuple | types.UnionType):

        def matches(value):
            return isinstance(value, type_or_types_or_pred)

    elif callable(type_or_types_or_pred):
        matches = type_or_types_or_pred
    else:
        raise TypeError("Argument must be a type, a tuple of types, or a callable.")

    def wrap(func):
        return lambda value: func(value) if matches(value) else value

    return wrap


def tree_map_only(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """Applies a function to the leaves of a type (or tuple of types, or for which it is true)."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """`tree_map_only` for the effect; returns the tree itself."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    """Whether a predicate holds for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """Whether a predicate holds for a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types, /, pred, tree, is_leaf=None):
    """Whether a predicate holds for all leaves of a type."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types, /, pred, tree, is_leaf=None):
    """Whether a predicate holds for a leaf of a type."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def treespec_pprint(treespec):
    """The tree of a shape with stars for leaves, as text.

    >>> treespec_pprint(tree_structure({"a": [1, 2]}))
    "{'a': [*, *]}"
    """

    class Star:
        def __repr__(self):
            return "*"

    return repr(treespec.unflatten([Star()] * treespec.num_leaves))


def treespec_dumps(treespec, protocol=None):
    """A shape as text, in PyTorch's format.

    >>> treespec_loads(treespec_dumps(tree_structure([1, (2,)])))
    TreeSpec(list, None, [*,
      TreeSpec(tuple, None, [*])])
    """
    from . import _pytree_text  # imports json

    return _pytree_text.dumps(treespec, protocol)


def treespec_loads(serialized):
    """The shape that `treespec_dumps` wrote."""
    from . import _pytree_text

    return _pytree_text.loads(serialized)


pytree_to_str = treespec_dumps
str_to_pytree = treespec_loads
DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL = 1
