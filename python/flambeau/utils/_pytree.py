"""Nested containers of values ("trees"): flattening, rebuilding and mapping.

Containers are tuples, named tuples, lists, dicts, `OrderedDict`s and `defaultdict`s; everything
else, None included, is a leaf. Dicts keep their order, as in PyTorch.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict


def _is_namedtuple(cls):
    return issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)


def _children(tree):
    """(context, children) of a container, or None of a leaf."""
    cls = type(tree)
    if cls is tuple or cls is list:
        return None, list(tree)
    if cls is dict or cls is OrderedDict:
        return list(tree), list(tree.values())
    if cls is defaultdict:
        return (tree.default_factory, list(tree)), list(tree.values())
    if _is_namedtuple(cls):
        return cls, list(tree)
    return None


def _build(cls, context, children):
    if cls is tuple or cls is list:
        return cls(children)
    if cls is dict or cls is OrderedDict:
        return cls(zip(context, children))
    if cls is defaultdict:
        return defaultdict(context[0], zip(context[1], children))
    return cls(*children)


class TreeSpec:
    """The shape of a tree without its leaves.

    Attributes: `type` (None of a leaf), `context` (keys), `children_specs`, `num_leaves`.
    """

    __slots__ = ("children_specs", "context", "num_leaves", "type")

    def __init__(self, type, context, children_specs):
        self.type = type
        self.context = context
        self.children_specs = children_specs
        self.num_leaves = 1 if type is None else sum(c.num_leaves for c in children_specs)

    def is_leaf(self):
        """Whether the tree is a single leaf."""
        return self.type is None

    def __eq__(self, other):
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (self.type, self.context, self.children_specs) == (
            other.type,
            other.context,
            other.children_specs,
        )

    def __hash__(self):
        return hash((self.type, self.num_leaves, tuple(self.children_specs)))

    def __repr__(self):
        if self.type is None:
            return "*"
        return f"TreeSpec({self.type.__name__}, {self.context}, {self.children_specs})"


LeafSpec = TreeSpec(None, None, [])


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
    found = None if is_leaf is not None and is_leaf(tree) else _children(tree)
    if found is None:
        leaves.append(tree)
        return LeafSpec
    context, children = found
    return TreeSpec(type(tree), context, [_flatten(c, leaves, is_leaf) for c in children])


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
    return _build(spec.type, spec.context, children)


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
    if type(tree) is not spec.type:
        raise ValueError(f"Type mismatch; expected {spec.type!r}, but got {type(tree)!r}.")
    context, children = _children(tree)
    if isinstance(tree, dict):
        keys = spec.context[1] if spec.type is defaultdict else spec.context
        if set(tree) != set(keys):
            raise ValueError(f"Node keys mismatch; expected {keys}, but got {list(tree)}.")
        children = [tree[key] for key in keys]
    if len(children) != len(spec.children_specs):
        raise ValueError(
            f"Node arity mismatch; expected {len(spec.children_specs)}, but got {len(children)}."
        )
    parts = (_flatten_up_to(c, s) for c, s in zip(children, spec.children_specs))
    return [leaf for part in parts for leaf in part]


def tree_map_(func, tree, *rests, is_leaf=None):
    """Calls a function on the leaves for its effect; returns the tree itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only(type_or_pred, func, tree=None, is_leaf=None):
    """Applies a function to the leaves of a type (or tuple of types, or for which it is true)."""
    matches = type_or_pred
    if isinstance(type_or_pred, type | tuple):

        def matches(leaf):
            return isinstance(leaf, type_or_pred)

    return tree_map(lambda leaf: func(leaf) if matches(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    """Whether a predicate holds for all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """Whether a predicate holds for a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))
