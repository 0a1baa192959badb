"""Trees of values and hook handles."""

import dataclasses
import pickle
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

import flambeau
from flambeau.utils import _pytree as pytree
from flambeau.utils.hooks import RemovableHandle

Point = namedtuple("Point", "x y")
TREES = [
    3,
    None,
    (),
    [1, (2, [3])],
    {"b": 1, "a": {"c": 2}},
    Point(1, [2]),
    OrderedDict(b=1, a=2),
    defaultdict(list, a=1),
    deque([1, (2,)], maxlen=5),
]


@pytest.mark.parametrize("tree", TREES)
def test_round_trip(tree):
    leaves, spec = pytree.tree_flatten(tree)
    again = pytree.tree_unflatten(leaves, spec)
    assert again == tree and type(again) is type(tree)
    assert spec == pytree.tree_structure(again) and hash(spec) == hash(pytree.tree_structure(tree))
    assert spec.num_leaves == len(leaves) == len(pytree.tree_leaves(tree))


def test_map():
    assert pytree.tree_map(lambda x: -x, {"a": (1, Point(2, 3))}) == {"a": (-1, Point(-2, -3))}
    assert pytree.tree_map(lambda x, y: x + y, [1, {"a": 2}], [3, {"a": 4}]) == [4, {"a": 6}]
    assert pytree.tree_map(len, [(1, 2), (3,)], is_leaf=lambda x: type(x) is tuple) == [2, 1]
    assert pytree.tree_map_only(int, lambda x: -x, [1, "a", 2.0]) == [-1, "a", 2.0]
    assert pytree.tree_all(bool, [1, (2,)]) and not pytree.tree_any(bool, [0, (0,)])


def test_errors():
    leaves, spec = pytree.tree_flatten([1, 2])
    with pytest.raises(ValueError, match="holds 2 items"):
        pytree.tree_unflatten(leaves[:1], spec)
    with pytest.raises(ValueError, match="Node type mismatch"):
        pytree.tree_map(max, [1], (1,))
    with pytest.raises(ValueError, match="arity mismatch"):
        pytree.tree_map(max, [1], [1, 2])
    with pytest.raises(ValueError, match="keys mismatch"):
        pytree.tree_map(max, {"a": 1}, {"b": 1})


def test_registered():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    with pytest.raises(ValueError, match="None or registered"):
        pytree.register_pytree_node(Pair, list, Pair, to_dumpable_context=str)
    pytree.register_pytree_node(
        Pair, lambda p: ([p.a, p.b], "ctx"), lambda parts, context: Pair(*parts)
    )
    try:
        spec = pytree.tree_structure([Pair(1, (2,)), 3])
        assert spec.num_leaves == 3 and spec.child(0).context == "ctx"
        assert repr(spec) == (
            "TreeSpec(list, None, [TreeSpec(Pair, ctx, [*,\n"
            "    TreeSpec(tuple, None, [*])]),\n  *])"
        )
        assert spec.unflatten([4, 5, 6])[0].b == (5,)
        with pytest.raises(ValueError, match="already registered"):
            pytree.register_pytree_node(Pair, list, Pair)
        with pytest.raises(ValueError, match="Did not find a flatten_with_keys_fn"):
            pytree.tree_flatten_with_path(Pair(1, 2))
        with pytest.raises(NotImplementedError, match="No registered serialization name"):
            pytree.treespec_dumps(spec)
    finally:
        pytree._deregister_pytree_node(Pair)
    assert pytree.tree_structure(Pair(1, 2)).is_leaf()


def test_dataclass_and_constant():
    @dataclasses.dataclass
    class Batch:
        inputs: list
        target: int | None = None
        size: int = dataclasses.field(default=3, init=False)

    pytree.register_dataclass(Batch)
    assert pytree.tree_map(lambda x: -x, Batch([1, 2], 3)) == Batch([-1, -2], -3)
    assert pytree.tree_leaves(Batch([1])) == [1]
    assert [pytree.keystr(path) for path, _ in pytree.tree_leaves_with_path(Batch([1], 2))] == [
        ".inputs[0]",
        ".target",
    ]
    with pytest.raises(ValueError, match="does not include all"):
        pytree.register_dataclass(Batch, field_names=["inputs"])
    with pytest.raises(ValueError, match="not a dataclass"):
        pytree.register_dataclass(int)

    class Setting:
        def __eq__(self, other):
            return isinstance(other, Setting)

        def __hash__(self):
            return 1

    pytree.register_constant(Setting)
    assert pytree.is_constant_class(Setting) and not pytree.tree_leaves(Setting())
    with pytest.raises(TypeError, match="non-default `__eq__`"):
        pytree.register_constant(type("Plain", (), {}))


def test_sizes_and_named_results():
    assert pytree.tree_leaves([flambeau.Size([2, 3])]) == [2, 3]
    assert pytree.tree_map(lambda x: x, flambeau.Size([2, 3])) == (2, 3)
    result = flambeau.zeros(2, 2).max(0)
    mapped = pytree.tree_map(lambda x: x + 1, result)
    assert type(mapped) is type(result) and mapped.indices.tolist() == [1, 1]


def test_dicts_of_other_kinds_and_prefixes():
    both = pytree.tree_map(lambda a, b: (a, b), {"a": 1}, OrderedDict(a=2))
    assert both == {"a": (1, 2)}
    spec = pytree.tree_structure([1, [2, 3]])
    assert pytree._broadcast_to_and_flatten([1, 2], spec) == [1, 2, 2]
    assert pytree._broadcast_to_and_flatten([1, [2]], spec) is None
    assert spec.flatten_up_to([1, [2, (3,)]]) == [1, 2, (3,)]


def test_paths_and_text():
    tree = {"b": [1, (2, 3)], "a": OrderedDict(c=4)}
    found, spec = pytree.tree_flatten_with_path(tree)
    assert [(pytree.keystr(path), leaf) for path, leaf in found] == [
        ("['b'][0]", 1),
        ("['b'][1][0]", 2),
        ("['b'][1][1]", 3),
        ("['a']['c']", 4),
    ]
    assert all(pytree.key_get(tree, path) == leaf for path, leaf in found)
    assert found[0][0] == (pytree.MappingKey("b"), pytree.SequenceKey(0))
    doubled = pytree.tree_map_with_path(lambda path, x: x * len(path), tree)
    assert doubled == {"b": [2, (6, 9)], "a": OrderedDict(c=8)}
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
    assert pytree.treespec_pprint(spec) == "{'b': [*, (*, *)], 'a': OrderedDict({'c': *})}" or (
        "OrderedDict([('c', *)])" in pytree.treespec_pprint(spec)
    )


def test_handle_removes_once():
    hooks, extra = OrderedDict(), {}
    with RemovableHandle(hooks, extra_dict=extra) as handle:
        hooks[handle.id] = extra[handle.id] = print
        assert pickle.loads(pickle.dumps(handle)).id == handle.id
    handle.remove()
    assert not hooks and not extra
