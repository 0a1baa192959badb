"""Trees of values and hook handles."""

import dataclasses
import pickle
import time
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


def test_handle_removes_once():
    hooks, extra = OrderedDict(), {}
    with RemovableHandle(hooks, extra_dict=extra) as handle:
        hooks[handle.id] = extra[handle.id] = print
        assert pickle.loads(pickle.dumps(handle)).id == handle.id
    handle.remove()
    assert not hooks and not extra


class Pair:
    def __init__(self, one, two):
        self.one, self.two = one, two

    def __eq__(self, other):
        return (self.one, self.two) == (other.one, other.two)

    def __hash__(self):
        return hash((self.one, self.two))


@pytest.fixture
def registered():
    """Pair as a container, for one test."""
    pytree.register_pytree_node(
        Pair,
        lambda pair: ([pair.one, pair.two], None),
        lambda values, _: Pair(*values),
        serialized_type_name="tests.Pair",
        flatten_with_keys_fn=lambda pair: (
            [(pytree.GetAttrKey("one"), pair.one), (pytree.GetAttrKey("two"), pair.two)],
            None,
        ),
    )
    yield
    pytree._deregister_pytree_node(Pair)


def test_registered_classes(registered):
    tree = {"a": [Pair(1, (2,))]}
    assert pytree.tree_map(lambda x: x + 1, tree) == {"a": [Pair(2, (3,))]}
    paths, spec = pytree.tree_flatten_with_path(tree)
    assert [(pytree.keystr(path), leaf) for path, leaf in paths] == [
        ("['a'][0].one", 1),
        ("['a'][0].two[0]", 2),
    ]
    assert all(pytree.key_get(tree, path) == leaf for path, leaf in paths)
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
    with pytest.raises(ValueError, match="already registered as pytree node"):
        pytree.register_pytree_node(Pair, lambda p: ([], None), lambda v, c: None)
    with pytest.raises(ValueError, match="must be None or registered"):
        pytree.register_pytree_node(
            int, lambda p: ([], None), lambda v, c: 0, to_dumpable_context=str
        )

    class Derived(Pair):
        pass

    assert pytree.tree_is_leaf(Derived(1, 2)) and not pytree.tree_is_leaf(Pair(1, 2))


def test_a_class_is_a_leaf_again():
    assert pytree.tree_is_leaf(Pair(1, 2))


def test_dataclasses_and_constants():
    @dataclasses.dataclass
    class Settings:
        rate: float
        layers: list
        name: str = None

    with pytest.raises(ValueError, match="Missing: {'name'}"):
        pytree.register_dataclass(Settings, field_names=["rate", "layers"])
    pytree.register_dataclass(Settings)
    leaves, spec = pytree.tree_flatten(Settings(1, [2, 3]))
    assert leaves == [1, 2, 3] and spec.context == [["rate", "layers"], ["name"]]
    assert pytree.tree_map(lambda x: -x, Settings(1, [2])) == Settings(-1, [-2])
    with pytest.raises(ValueError, match="not a dataclass"):
        pytree.register_dataclass(Pair)
    pytree.register_constant(Pair)
    try:
        leaves, spec = pytree.tree_flatten([Pair(1, 2), 3])
        assert leaves == [3] and pytree.is_constant_class(Pair)
        assert pytree.tree_unflatten([4], spec) == [Pair(1, 2), 4]
    finally:
        pytree._deregister_pytree_node(Pair)
    with pytest.raises(TypeError, match="non-default `__eq__`"):
        pytree.register_constant(RemovableHandle)


def test_text_is_that_of_pytorch():
    tree = {"a": [1, (2,)], "b": OrderedDict(x=3), "c": defaultdict(list, {1: 2})}
    tree["d"] = deque([1], maxlen=3)
    leaf = '{"type": null, "context": null, "children_spec": []}'
    text = (
        '[1, {"type": "builtins.dict", "context": "[\\"a\\", \\"b\\", \\"c\\", \\"d\\"]", '
        '"children_spec": [{"type": "builtins.list", "context": "null", "children_spec": [LEAF, '
        '{"type": "builtins.tuple", "context": "null", "children_spec": [LEAF]}]}, '
        '{"type": "collections.OrderedDict", "context": "[\\"x\\"]", "children_spec": [LEAF]}, '
        '{"type": "collections.defaultdict", "context": {"default_factory_module": "builtins", '
        '"default_factory_name": "list", "dict_context": [1]}, "children_spec": [LEAF]}, '
        '{"type": "collections.deque", "context": "3", "children_spec": [LEAF]}]}]'
    ).replace("LEAF", leaf)
    spec = pytree.tree_structure(tree)
    assert pytree.treespec_dumps(spec) == text
    assert pytree.treespec_loads(text) == spec
    with pytest.raises(NotImplementedError, match="Please register using `_register_namedtuple`"):
        pytree.treespec_dumps(pytree.tree_structure(Point(1, 2)))
    with pytest.raises(ValueError, match="Unknown protocol 7"):
        pytree.treespec_loads("[7, 1]")
    with pytest.raises(TypeError, match="instance of PyTreeSpec"):
        pytree.treespec_dumps(3)
    assert str(pytree.tree_structure([1, Point(2, 3)])) == (
        f"TreeSpec(list, None, [*,\n  TreeSpec(namedtuple, {Point}, [*,\n    *])])"
    )
    assert pytree.treespec_pprint(spec).startswith("{'a': [*, (*,)], 'b': OrderedDict(")


def test_shapes():
    spec = pytree.tree_structure([1, {"a": 2, "b": 3}])
    assert (spec.num_leaves, spec.num_nodes, spec.num_children) == (3, 5, 2)
    assert spec.child(1) == pytree.treespec_dict(a=pytree.treespec_leaf(), b=pytree.LeafSpec())
    assert isinstance(spec.child(0), pytree.LeafSpec) and not isinstance(spec, pytree.LeafSpec)
    assert spec.flatten_up_to([[1], {"b": 2, "a": (3,)}]) == [[1], (3,), 2]
    with pytest.raises(ValueError, match=r"missing key\(s\): {'a'}; extra key\(s\): {'c'}"):
        spec.flatten_up_to([1, {"c": 2, "b": 3}])
    assert pytree._broadcast_to_and_flatten([0, 1], spec) == [0, 1, 1]
    assert pytree._broadcast_to_and_flatten((0, 1), spec) is None
    assert pytree.arg_tree_leaves(1, [2], key=(3,)) == [1, 2, 3]


def test_results_of_operators_are_containers():
    result = flambeau.max(flambeau.tensor([[1.0, 2.0]]), 1)
    again = pytree.tree_map(lambda x: x + 1, result)
    assert type(again) is type(result) and again.values.item() == 3
    assert pytree.is_structseq(result) and not pytree.is_namedtuple(result)
    assert pytree.tree_leaves(flambeau.zeros(2, 3).shape) == [2, 3]
    assert pytree.tree_is_leaf(time.gmtime(0)) and pytree.is_structseq(time.gmtime(0))


def test_choices():
    assert pytree.tree_map_only(int | str, lambda x: 0, [1, 2.0, "s"]) == [0, 2.0, 0]
    assert pytree.map_only(int)(lambda x: x * 2)(4) == 8
    assert not pytree.tree_all_only(int, lambda x: x > 0, [1, 2.0, -3])
    assert pytree.tree_any_only(int, lambda x: x > 0, [1, 2.0, -3])
    with pytest.raises(TypeError, match="a type, a tuple of types, or a callable"):
        pytree.map_only(3)
    assert pytree.tree_map_with_path(
        lambda path, x, y: (pytree.keystr(path), x, y), {"a": [1]}, {"a": [2]}
    ) == {"a": [("['a'][0]", 1, 2)]}
